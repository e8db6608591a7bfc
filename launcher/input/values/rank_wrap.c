/* SPDX-License-Identifier: MIT */
#include "launcher/input/values/rank_wrap.h"

#include "launcher/base/text/command_words.h"
#include "launcher/base/text/string_list.h"
#include "launcher/base/text/text_file.h"

#include <string.h>

int rank_wrap_parse(struct rank_wrap *out, const char *text, struct fault *why)
{
    struct string_list words = {0};
    struct rank_wrap w = {0};
    const char *colon = strchr(text, ':');
    char shown[TEXT_SHOWN];
    int rc;

    if (!colon)
        return fault_set(why, ML_ERR_ARGUMENT,
                         "'%s' does not say which ranks: write RANKS: COMMAND, as '3: gdb --args'",
                         text_show(shown, text));
    rc = rank_set_parse(&w.ranks, text, (size_t)(colon - text), why);
    if (!rc)
        rc = command_words_split(&words, colon + 1, why);
    if (!rc)
        rc = string_list_release(&words, &w.words, why);
    string_list_clear(&words);
    if (!rc)
        *out = w;
    return rc;
}

void rank_wrap_clear(struct rank_wrap *w)
{
    strings_free(w->words);
    w->words = NULL;
}

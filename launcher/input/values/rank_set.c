/* SPDX-License-Identifier: MIT */
#include "launcher/input/values/rank_set.h"

#include "common/text/number.h"
#include "launcher/base/text/text_file.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

static int form_refuse(const char *text, size_t length, struct fault *why)
{
    char copy[TEXT_SHOWN], shown[TEXT_SHOWN];

    snprintf(copy, sizeof(copy), "%.*s", length < 80 ? (int)length : 80, text);
    return fault_set(why, ML_ERR_ARGUMENT,
                     "'%s' is not a list of ranks: write numbers and ranges, as 0,3-5, or all",
                     text_show(shown, copy));
}

/* False: it is not a whole number. */
static bool number_take(const char *text, size_t length, int *out)
{
    char copy[16];
    int64_t number;

    if (length == 0 || length >= sizeof(copy))
        return false;
    memcpy(copy, text, length);
    copy[length] = '\0';
    if (!number_parse(copy, 0, INT_MAX, &number))
        return false;
    *out = (int)number;
    return true;
}

/* "3" or "3-5" */
static bool piece_add(struct rank_set *s, const char *text, size_t length)
{
    const char *dash = memchr(text, '-', length);
    size_t first = dash ? (size_t)(dash - text) : length;
    int from, to;

    if (s->count == RANK_SET_PIECES || !number_take(text, first, &from))
        return false;
    to = from;
    if (dash && (!number_take(dash + 1, length - first - 1, &to) || to < from))
        return false;
    s->pieces[s->count].first = from;
    s->pieces[s->count++].last = to;
    return true;
}

int rank_set_parse(struct rank_set *out, const char *text, size_t length, struct fault *why)
{
    struct rank_set s = {0};
    const char *end = text + length;

    if (length == 3 && strncmp(text, "all", 3) == 0) {
        s.is_all = true;
        *out = s;
        return 0;
    }
    for (const char *at = text;; at++) {
        const char *comma = memchr(at, ',', (size_t)(end - at));
        size_t size = (size_t)((comma ? comma : end) - at);

        if (!piece_add(&s, at, size))
            return form_refuse(text, length, why);
        if (!comma)
            break;
        at = comma;
    }
    *out = s;
    return 0;
}

bool rank_set_has(const struct rank_set *s, int rank)
{
    for (int i = 0; i < s->count; i++) {
        if (rank >= s->pieces[i].first && rank <= s->pieces[i].last)
            return true;
    }
    return s->is_all;
}

int rank_set_check(const struct rank_set *s, int size, struct fault *why)
{
    for (int i = 0; i < s->count; i++) {
        if (s->pieces[i].last >= size)
            return fault_set(why, ML_ERR_ARGUMENT, "there is no rank %d: the job has ranks 0 to %d",
                             s->pieces[i].last, size - 1);
    }
    return 0;
}

/* SPDX-License-Identifier: MIT */
/* hostfile_text.c: hostfiles as MPI users write them: a host a line, "host", "host:2", "host
 * slots=2". */
#include "common/number.h"
#include "launcher/hosts/hostfile.h"
#include "launcher/text/string_list.h"
#include "launcher/text/text_file.h"

#include <stdlib.h>
#include <string.h>

/* "slots=2": the only word that may follow a host. Blanks around '=' have been taken out. */
static int take_word(struct host *h, const char *word, struct fault *why)
{
    char shown[TEXT_SHOWN];
    int64_t slots;

    if (strncmp(word, "slots=", 6) != 0)
        return fault_set(why, ML_ERR_ARGUMENT,
                         "'%s' is not known here; a line is 'host', 'host:2' or 'host slots=2'",
                         text_show(shown, word));
    if (h->slots)
        return fault_set(why, ML_ERR_ARGUMENT, "the slots are given twice");
    if (!number_parse(word + 6, 1, SLOTS_LIMIT, &slots))
        return fault_set(why, ML_ERR_ARGUMENT, "slots is '%s', not a whole number from 1 to %d",
                         text_show(shown, word + 6), SLOTS_LIMIT);
    h->slots = (int)slots;
    return 0;
}

/* "slots = 2" becomes "slots=2", in place: mpirun takes both. */
static void close_up_equals(char *line)
{
    char *to = line;

    for (const char *from = line; *from; from++) {
        const char *next = from + strspn(from, " \t");

        if (next > from && *next == '=')
            from = next;
        *to++ = *from;
        if (*from == '=')
            from += strspn(from + 1, " \t");
    }
    *to = '\0';
}

static char *next_word(char **rest)
{
    char *word;

    do
        word = strsep(rest, " \t\v\f\r");
    while (word && !*word);
    return word;
}

static int read_host(struct host *h, char *line, struct fault *why)
{
    char *word = next_word(&line), *name = word, shown[TEXT_SHOWN];
    int rc = host_parse(h, name, why);

    while (!rc && (word = next_word(&line)))
        rc = take_word(h, word, why);
    return rc ? fault_wrap(why, "host '%s'", text_show(shown, name)) : 0;
}

static int read_line(struct host_list *l, char *line, struct fault *why)
{
    struct host h = {0};
    int rc;

    line[strcspn(line, "#")] = '\0';
    if (!line[strspn(line, " \t\v\f\r")])
        return 0;
    close_up_equals(line);
    rc = read_host(&h, line, why);
    if (!rc)
        rc = host_list_add(l, &h, why);
    host_clear(&h);
    return rc;
}

static int read_lines(struct host_list *l, const char *path, char *text, struct fault *why)
{
    char *line;
    int rc;

    for (int number = 1; (line = text_line(&text)); number++)
        if ((rc = read_line(l, line, why)))
            return fault_wrap(why, "%s line %d", path, number);
    if (l->count == 0)
        return fault_set(why, ML_ERR_ARGUMENT, "%s: names no host", path);
    rc = host_list_merge(l, why);
    return rc ? fault_wrap(why, "%s", path) : 0;
}

int hostfile_text_parse(struct host_list **out, const char *path, const char *text, size_t size,
                        struct fault *why)
{
    struct host_list *l = NULL;
    char *copy = strndup(text, size);
    int rc;

    if (!copy)
        return fault_set(why, ML_ERR_MEMORY, "%s: out of memory", path);
    if ((rc = host_list_create(&l, path, why)) || (rc = read_lines(l, path, copy, why)))
        goto fail;
    free(copy);
    *out = l;
    return 0;
fail:
    free(copy);
    host_list_destroy(l);
    return rc;
}

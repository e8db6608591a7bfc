/* SPDX-License-Identifier: MIT */
/* hostfile_text.c: hostfiles as MPI users write them, one host a line: "host", "host:2",
 * "n[1-4]" or "host slots=2 max_slots=4". */
#include "common/text/number.h"
#include "launcher/hosts/host_list_finish.h"
#include "launcher/hosts/host_list_parse.h"
#include "launcher/hosts/hostfile.h"
#include "launcher/text/string_list.h"
#include "launcher/text/text_file.h"

#include <stdlib.h>
#include <string.h>

/* Reads "slots=2" or "max_slots=4", the only words that may follow a host. The blanks around '='
 * are gone by now. */
static int word_read(struct host *h, const char *word, struct fault *why)
{
    bool is_most = strncmp(word, "max_slots=", 10) == 0 || strncmp(word, "max-slots=", 10) == 0;
    int *field = is_most ? &h->max_slots : &h->slots;
    const char *number = word + (is_most ? 10 : 6), *name = is_most ? "max_slots" : "slots";
    char shown[TEXT_SHOWN];
    int64_t slots;

    if (!is_most && strncmp(word, "slots=", 6) != 0)
        return fault_set(why, ML_ERR_ARGUMENT,
                         "unexpected '%s'; a line is 'host', 'host:2', 'host slots=2' or 'host "
                         "slots=2 max_slots=4'",
                         text_show(shown, word));
    if (*field)
        return fault_set(why, ML_ERR_ARGUMENT, "the %s are given twice", name);
    if (!number_parse(number, 1, SLOTS_LIMIT, &slots))
        return fault_set(why, ML_ERR_ARGUMENT, "%s is '%s', not a whole number from 1 to %d", name,
                         text_show(shown, number), SLOTS_LIMIT);
    *field = (int)slots;
    return 0;
}

/* Turns "slots = 2" into "slots=2", in place: mpirun accepts both. */
static void equals_close_up(char *line)
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

static char *word_next(char **rest)
{
    char *word;

    do
        word = strsep(rest, " \t\v\f\r");
    while (word && !*word);
    return word;
}

/* `rest`: the line behind the name. */
static int host_read(struct host *h, const char *name, char *rest, struct fault *why)
{
    char *word, shown[TEXT_SHOWN];
    int rc = host_list_parse_host(h, name, why);

    while (!rc && (word = word_next(&rest)))
        rc = word_read(h, word, why);
    if (!rc && h->max_slots && h->slots > h->max_slots)
        rc = fault_set(why, ML_ERR_ARGUMENT, "slots is %d, and max_slots less: %d", h->slots,
                       h->max_slots);
    return rc ? fault_wrap(why, "host '%s'", text_show(shown, name)) : 0;
}

static int host_add(struct host_list *l, const char *name, const char *rest, struct fault *why)
{
    struct host h = {0};
    char *copy = NULL;
    int rc = string_copy(&copy, rest, why);

    if (!rc)
        rc = host_read(&h, name, copy, why);
    if (!rc)
        rc = host_list_add(l, &h, why);
    host_list_clear_host(&h);
    free(copy);
    return rc;
}

static int line_read(struct host_list *l, char *line, struct fault *why)
{
    struct string_list names = {0};
    const char *name;
    int rc;

    line[strcspn(line, "#")] = '\0';
    if (!line[strspn(line, " \t\v\f\r")])
        return 0;
    equals_close_up(line);
    name = word_next(&line);
    rc = host_list_parse_range(&names, name, why);
    for (size_t i = 0; i < names.count && !rc; i++)
        rc = host_add(l, names.items[i], line ? line : "", why);
    string_list_clear(&names);
    return rc;
}

/* Failures name the file themselves, most of them with the line. */
static int lines_read(struct host_list *l, const char *path, char *text, struct fault *why)
{
    char *line;
    int rc;

    for (int number = 1; (line = text_line(&text)); number++)
        if ((rc = line_read(l, line, why)))
            return fault_wrap(why, "%s line %d", path, number);
    return l->count ? 0 : fault_set(why, ML_ERR_ARGUMENT, "%s: names no host", path);
}

int hostfile_text_parse(struct host_list **out, const char *path, const char *text, size_t size,
                        struct fault *why)
{
    struct host_list *l = NULL;
    char *copy = strndup(text, size);
    int rc, finished;

    if (!copy)
        return fault_set(why, ML_ERR_MEMORY, "%s: out of memory", path);
    rc = host_list_create(&l, path, why);
    if (!rc)
        rc = lines_read(l, path, copy, why);
    free(copy);
    finished = host_list_finish(out, l, rc, why);
    return finished && !rc ? fault_wrap(why, "%s", path) : finished;
}

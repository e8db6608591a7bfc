/* SPDX-License-Identifier: MIT */
/* hostfile_text.c: hostfiles as MPI users write them, one host a line: "host", "host:2",
 * "n[1-4]" or "host slots=2 max_slots=4 user=me". */
#include "common/log.h"
#include "common/text/number.h"
#include "launcher/base/text/string_list.h"
#include "launcher/base/text/text_file.h"
#include "launcher/input/hosts/host_list_finish.h"
#include "launcher/input/hosts/host_list_parse.h"
#include "launcher/input/hosts/host_name.h"
#include "launcher/input/hosts/hostfile.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The words that may follow a host. Open MPI has three for each of the first two. Left out, with a
 * warning, is what files of Open MPI and MPICH say of a host's processors, binding and interface:
 * mlaunch finds it by itself, or takes it from options. */
static const struct word {
    const char *name; /* '_' stands for '-' as well */
    enum { WORD_SLOTS, WORD_MAX_SLOTS, WORD_USER, WORD_LEFT_OUT, WORD_UNKNOWN } kind;
    const char *hint;
} words[] = {
    {"slots", WORD_SLOTS, NULL},
    {"count", WORD_SLOTS, NULL},
    {"cpu", WORD_SLOTS, NULL},
    {"max_slots", WORD_MAX_SLOTS, NULL},
    {"slots_max", WORD_MAX_SLOTS, NULL},
    {"count_max", WORD_MAX_SLOTS, NULL},
    {"cpu_max", WORD_MAX_SLOTS, NULL},
    {"user", WORD_USER, NULL},
    {"username", WORD_USER, NULL},
    {"ifname", WORD_LEFT_OUT, "\"ips\" in a JSON hostfile names the address to use"},
    {"binding", WORD_LEFT_OUT, "--bind-to binds the ranks of all hosts alike"},
    {"boards", WORD_LEFT_OUT, "mlaunch finds a host's processors itself"},
    {"sockets", WORD_LEFT_OUT, "mlaunch finds a host's processors itself"},
    {"sockets_per_board", WORD_LEFT_OUT, "mlaunch finds a host's processors itself"},
    {"cores_per_socket", WORD_LEFT_OUT, "mlaunch finds a host's processors itself"},
    {"port", WORD_UNKNOWN,
     "ssh_config names the port, or \"ssh\": \"HOST:PORT\" in a JSON hostfile"},
    {NULL, WORD_UNKNOWN,
     "a line is 'host', 'host:2', 'host slots=2' or 'host slots=2 max_slots=4'"},
};

/* The file that is being read. */
struct reader {
    struct host_list *list;
    const char *path;
    int line;
    bool is_told[sizeof(words) / sizeof(words[0])]; /* the warning about a word */
};

static const struct word *word_find(const char *text, size_t length)
{
    const struct word *w = words;

    for (; w->name; w++) {
        size_t i = 0;

        while (i < length && (w->name[i] == text[i] || (w->name[i] == '_' && text[i] == '-')))
            i++;
        if (i == length && !w->name[i] && text[i] == '=')
            break;
    }
    return w;
}

static int user_read(struct host *h, const char *text, struct fault *why)
{
    static const struct host_number none = {"slots", 0};
    char *whole = NULL, shown[TEXT_SHOWN];
    struct host_name n;
    int rc;

    if (h->user)
        return fault_set(why, ML_ERR_ARGUMENT, "the user is given twice");
    if (!*text || strchr(text, '@'))
        return fault_set(why, ML_ERR_ARGUMENT, "user is '%s', no user's name",
                         text_show(shown, text));
    if (asprintf(&whole, "%s@host", text) < 0)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    rc = host_name_parse(&n, whole, &none, why);
    free(whole);
    if (rc)
        return rc;
    h->user = n.user;
    free(n.name);
    return 0;
}

/* Warns once of each word, even if all hosts have it. */
static void word_leave_out(struct reader *r, const struct word *w, const char *text)
{
    char shown[TEXT_SHOWN];

    if (!r->is_told[w - words])
        log_warn("hostfile: %s line %d: ignoring '%s': %s", r->path, r->line,
                 text_show(shown, text), w->hint);
    r->is_told[w - words] = true;
}

static int slots_read(struct host *h, const struct word *w, const char *text, struct fault *why)
{
    int *field = w->kind == WORD_MAX_SLOTS ? &h->max_slots : &h->slots;
    char shown[TEXT_SHOWN];
    int64_t slots;

    if (*field)
        return fault_set(why, ML_ERR_ARGUMENT, "the %s are given twice",
                         w->kind == WORD_SLOTS ? "slots" : "max_slots");
    if (!number_parse(text, 1, SLOTS_LIMIT, &slots))
        return fault_set(why, ML_ERR_ARGUMENT, "%s is '%s', not a whole number from 1 to %d",
                         w->name, text_show(shown, text), SLOTS_LIMIT);
    *field = (int)slots;
    return 0;
}

/* Reads "slots=2", for instance. The blanks around '=' are gone by now. */
static int word_read(struct reader *r, struct host *h, const char *text, struct fault *why)
{
    size_t length = strcspn(text, "=");
    const struct word *w = word_find(text, length);
    char shown[TEXT_SHOWN];

    switch (w->kind) {
    case WORD_SLOTS:
    case WORD_MAX_SLOTS:
        return slots_read(h, w, text + length + 1, why);
    case WORD_USER:
        return user_read(h, text + length + 1, why);
    case WORD_LEFT_OUT:
        word_leave_out(r, w, text);
        return 0;
    default:
        return fault_set(why, ML_ERR_ARGUMENT, "unexpected '%s'; %s", text_show(shown, text),
                         w->hint);
    }
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
static int host_read(struct reader *r, struct host *h, const char *name, char *rest,
                     struct fault *why)
{
    char *word, shown[TEXT_SHOWN];
    int rc = host_list_parse_host(h, name, why);

    while (!rc && (word = word_next(&rest)))
        rc = word_read(r, h, word, why);
    if (!rc && h->max_slots && h->slots > h->max_slots)
        rc = fault_set(why, ML_ERR_ARGUMENT, "slots is %d, which is more than max_slots, %d",
                       h->slots, h->max_slots);
    return rc ? fault_wrap(why, "host '%s'", text_show(shown, name)) : 0;
}

static int host_add(struct reader *r, const char *name, const char *rest, struct fault *why)
{
    struct host h = {0};
    char *copy = NULL;
    int rc = string_copy(&copy, rest, why);

    if (!rc)
        rc = host_read(r, &h, name, copy, why);
    if (!rc)
        rc = host_list_add(r->list, &h, why);
    host_list_clear_host(&h);
    free(copy);
    return rc;
}

static int line_read(struct reader *r, char *line, struct fault *why)
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
        rc = host_add(r, names.items[i], line ? line : "", why);
    string_list_clear(&names);
    return rc;
}

/* Failures name the file themselves, most of them with the line. */
static int lines_read(struct host_list *l, const char *path, char *text, struct fault *why)
{
    struct reader r = {.list = l, .path = path};
    char *line;
    int rc;

    while ((line = text_line(&text))) {
        r.line++;
        if ((rc = line_read(&r, line, why)))
            return fault_wrap(why, "%s line %d", path, r.line);
    }
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

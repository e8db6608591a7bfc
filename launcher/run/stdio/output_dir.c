/* SPDX-License-Identifier: MIT */
#include "launcher/run/stdio/output_dir.h"

#include "common/text/text_stream.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

struct output_dir {
    int ranks;
    int count;                 /* files */
    struct output_file *files; /* different ones */
    char **names;              /* out and err of rank 0, then of rank 1, … */
    int *file_of;              /* the index in `files` of each name */
    bool is_shared;
};

/* A name, to be sorted, and its place among the names. */
struct named {
    const char *name;
    int index;
};

/* Like mkdir -p, for the directories that the path of a file names. */
static int directories_make(const char *path, struct fault *why)
{
    char *part = strdup(path);
    struct stat st;
    int rc = 0;

    if (!part)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    for (char *slash = part; !rc && (slash = strchr(slash + 1, '/'));) {
        *slash = 0;
        if (mkdir(part, 0777) && errno != EEXIST)
            rc = fault_os(why, ML_ERR_SYSTEM, errno, "--output: cannot make directory %s", part);
        else if (stat(part, &st) == 0 && !S_ISDIR(st.st_mode))
            rc = fault_set(why, ML_ERR_SYSTEM,
                           "--output: %s is a file, not a directory; for a file a rank write "
                           "--output '%s-%%r'",
                           part, part);
        *slash = '/';
    }
    free(part);
    return rc;
}

/* The name can be any that SSH takes, even "..". */
static void host_put(FILE *to, const char *name)
{
    for (const char *c = name; *c; c++)
        fputc(*c == '/' || (*c == '.' && c == name) ? '_' : *c, to);
}

static bool is_pattern(const char *path)
{
    for (; (path = strchr(path, '%')); path += 2)
        if (path[1] != '%')
            return true;
    return false;
}

/* options.h has made sure that each '%' has one of these letters behind it. */
static void pattern_put(FILE *to, const struct plan *p, const char *job, int rank)
{
    for (const char *c = p->options->output; *c; c++) {
        if (*c != '%') {
            fputc(*c, to);
            continue;
        }
        switch (*++c) {
        case 'r':
        case 't':
            fprintf(to, "%d", rank);
            break;
        case 'h':
            host_put(to, plan_host(p, p->where->ranks[rank].host)->name);
            break;
        case 'j':
            fputs(job, to);
            break;
        default:
            fputc('%', to);
        }
    }
}

/* The name of one of a rank's files; the caller frees it. NULL: out of memory. */
static char *name_make(const struct plan *p, const char *job, int index)
{
    const char *path = p->options->output;
    bool is_dir = !is_pattern(path) || path[strlen(path) - 1] == '/';
    int rank = index / 2;
    struct text_stream s;
    FILE *to = text_stream_open(&s);

    if (!to)
        return NULL;
    pattern_put(to, p, job, rank);
    if (is_dir)
        fprintf(to, "/rank.%d.%s", rank, index % 2 ? "err" : "out");
    return text_stream_close(to, &s);
}

static int named_compare(const void *a, const void *b)
{
    const struct named *x = a, *y = b;
    int c = strcmp(x->name, y->name);

    return c ? c : x->index - y->index;
}

static int file_open(struct output_dir *d, const char *name, struct fault *why)
{
    struct output_file *f = &d->files[d->count];
    int rc = directories_make(name, why);

    if (rc)
        return rc;
    f->name = name;
    f->fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (f->fd < 0)
        return fault_os(why, ML_ERR_SYSTEM, errno, "--output: cannot write %s", name);
    d->count++;
    return 0;
}

/* Opens a file for each different name: two descriptors of one file would write over each other. */
static int files_open(struct output_dir *d, struct named *sorted, struct fault *why)
{
    int rc = 0;

    for (int i = 0; i < 2 * d->ranks; i++)
        sorted[i] = (struct named){d->names[i], i};
    qsort(sorted, 2 * (size_t)d->ranks, sizeof(*sorted), named_compare);
    for (int i = 0; i < 2 * d->ranks && !rc; i++) {
        bool is_new = i == 0 || strcmp(sorted[i - 1].name, sorted[i].name) != 0;

        if (is_new)
            rc = file_open(d, sorted[i].name, why);
        else if (sorted[i - 1].index / 2 != sorted[i].index / 2)
            d->is_shared = true;
        d->file_of[sorted[i].index] = d->count - 1;
    }
    return rc;
}

int output_dir_open(struct output_dir **out, const struct plan *p, const char *job,
                    struct fault *why)
{
    struct output_dir *d = calloc(1, sizeof(*d));
    size_t count = 2 * (size_t)p->where->size;
    struct named *sorted = calloc(count, sizeof(*sorted));
    int rc = 0;

    if (d) {
        d->ranks = p->where->size;
        d->files = calloc(count, sizeof(*d->files));
        d->names = calloc(count, sizeof(*d->names));
        d->file_of = calloc(count, sizeof(*d->file_of));
    }
    if (!sorted || !d || !d->files || !d->names || !d->file_of)
        rc = fault_set(why, ML_ERR_MEMORY, "out of memory");
    for (size_t i = 0; i < count && !rc; i++)
        if (!(d->names[i] = name_make(p, job, (int)i)))
            rc = fault_set(why, ML_ERR_MEMORY, "out of memory");
    if (!rc)
        rc = files_open(d, sorted, why);
    free(sorted);
    if (rc)
        output_dir_close(d);
    else
        *out = d;
    return rc;
}

void output_dir_close(struct output_dir *d)
{
    if (!d)
        return;
    for (int i = 0; i < d->count; i++)
        close(d->files[i].fd);
    for (int i = 0; d->names && i < 2 * d->ranks; i++)
        free(d->names[i]);
    free(d->files);
    free(d->names);
    free(d->file_of);
    free(d);
}

bool output_dir_is_shared(const struct output_dir *d)
{
    return d->is_shared;
}

struct output_file *output_dir_file(struct output_dir *d, int rank, int stream)
{
    return &d->files[d->file_of[2 * rank + stream - 1]];
}

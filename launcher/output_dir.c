/* SPDX-License-Identifier: MIT */
#include "launcher/output_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

struct tail {
    size_t size;
    char bytes[OUTPUT_TAIL];
};

struct output_dir {
    int ranks;
    struct output_file *files; /* rank 0's out and err, rank 1's out and err, … */
    char **names;              /* theirs */
    struct tail *tails;        /* a rank */
};

/* As mkdir -p. */
static int make_directory(const char *path, struct fault *why)
{
    char *part = strdup(path);
    int err = 0;

    if (!part)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    for (char *slash = part; !err && (slash = strchr(slash + 1, '/'));) {
        *slash = 0;
        if (mkdir(part, 0777) && errno != EEXIST)
            err = errno;
        *slash = '/';
    }
    if (!err && mkdir(part, 0777) && errno != EEXIST)
        err = errno;
    free(part);
    return err ? fault_os(why, ML_ERR_SYSTEM, err, "--output: cannot make directory %s", path) : 0;
}

static int file_open(struct output_dir *d, int index, const char *path, struct fault *why)
{
    struct output_file *f = &d->files[index];

    if (asprintf(&d->names[index], "%s/rank.%d.%s", path, index / 2, index % 2 ? "err" : "out") <
        0) {
        d->names[index] = NULL;
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    }
    f->name = d->names[index];
    f->fd = open(f->name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (f->fd < 0)
        return fault_os(why, ML_ERR_SYSTEM, errno, "--output: cannot write %s", f->name);
    return 0;
}

int output_dir_open(struct output_dir **out, const char *path, int ranks, struct fault *why)
{
    struct output_dir *d = calloc(1, sizeof(*d));
    int rc;

    if (!d)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    d->files = calloc((size_t)ranks * 2, sizeof(*d->files));
    d->names = calloc((size_t)ranks * 2, sizeof(*d->names));
    d->tails = calloc((size_t)ranks, sizeof(*d->tails));
    if (!d->files || !d->names || !d->tails) {
        rc = fault_set(why, ML_ERR_MEMORY, "out of memory");
        goto fail;
    }
    d->ranks = ranks;
    for (int i = 0; i < 2 * ranks; i++)
        d->files[i].fd = -1;
    rc = make_directory(path, why);
    for (int i = 0; i < 2 * ranks && !rc; i++)
        rc = file_open(d, i, path, why);
    if (rc)
        goto fail;
    *out = d;
    return 0;
fail:
    output_dir_close(d);
    return rc;
}

void output_dir_close(struct output_dir *d)
{
    if (!d)
        return;
    for (int i = 0; i < 2 * d->ranks; i++) {
        if (d->files[i].fd >= 0)
            close(d->files[i].fd);
        free(d->names[i]);
    }
    free(d->files);
    free(d->names);
    free(d->tails);
    free(d);
}

struct output_file *output_dir_file(struct output_dir *d, int rank, int stream)
{
    return &d->files[2 * rank + stream - 1];
}

void output_dir_note(struct output_dir *d, int rank, const char *bytes, size_t size)
{
    struct tail *t = &d->tails[rank];
    size_t keep;

    if (size > OUTPUT_TAIL) {
        bytes += size - OUTPUT_TAIL;
        size = OUTPUT_TAIL;
    }
    keep = t->size < OUTPUT_TAIL - size ? t->size : OUTPUT_TAIL - size;
    memmove(t->bytes, t->bytes + t->size - keep, keep);
    if (size)
        memcpy(t->bytes + keep, bytes, size);
    t->size = keep + size;
}

void output_dir_tail(const struct output_dir *d, int rank, char *text, size_t size)
{
    const struct tail *t = &d->tails[rank];
    size_t take = t->size < size - 1 ? t->size : size - 1;
    const char *from = t->bytes + t->size - take, *newline;

    if (t->size == OUTPUT_TAIL || take < t->size) {
        newline = memchr(from, '\n', take); /* the first line may be cut: leave it out */
        if (newline && newline + 1 < from + take) {
            take -= (size_t)(newline + 1 - from);
            from = newline + 1;
        }
    }
    memcpy(text, from, take);
    while (take > 0 && text[take - 1] == '\n')
        take--;
    text[take] = 0;
}

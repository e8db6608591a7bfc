/* SPDX-License-Identifier: MIT */
#include "launcher/stdio/output_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

struct output_dir {
    int ranks;
    struct output_file *files; /* rank 0's out and err, rank 1's out and err, … */
    char **names;              /* theirs */
};

/* As mkdir -p. */
static int directory_make(const char *path, struct fault *why)
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
    if (!d->files || !d->names) {
        rc = fault_set(why, ML_ERR_MEMORY, "out of memory");
        goto fail;
    }
    d->ranks = ranks;
    for (int i = 0; i < 2 * ranks; i++)
        d->files[i].fd = -1;
    rc = directory_make(path, why);
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
    free(d);
}

struct output_file *output_dir_file(struct output_dir *d, int rank, int stream)
{
    return &d->files[2 * rank + stream - 1];
}

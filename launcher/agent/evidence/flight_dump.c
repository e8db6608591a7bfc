/* SPDX-License-Identifier: MIT */
#include "launcher/agent/evidence/flight_dump.h"

#include "launcher/agent/evidence/pickle_value.h"
#include "launcher/base/text/environment.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DUMP_MOST = 32 << 20 };

/* "" if it is not set. */
static const char *value_of(char *const *variables, const char *name)
{
    const char *value = environment_find(variables, name);

    return value ? value : "";
}

/* The path as the process means it, followed by the rank and `end`; false: it is too long. */
static bool path_make(char out[PATH_MAX], pid_t pid, const char *stem, int rank, const char *end)
{
    int n = *stem == '/'
                ? snprintf(out, PATH_MAX, "%s%d%s", stem, rank, end)
                : snprintf(out, PATH_MAX, "/proc/%d/cwd/%s%d%s", (int)pid, stem, rank, end);

    return n > 0 && n < PATH_MAX;
}

static void file_add(struct flight_dump *d, pid_t pid, const char *stem, int rank)
{
    if (!path_make(d->files[d->count], pid, stem, rank, ""))
        return;
    if (lstat(d->files[d->count], &d->seen[d->count]))
        d->seen[d->count] = (struct stat){0};
    d->count++;
}

/* Where newer and older versions of torch write if they are not told. */
static void files_guess(struct flight_dump *d, char *const *variables, pid_t pid, int rank)
{
    const char *cache = value_of(variables, "XDG_CACHE_HOME");
    const char *home = value_of(variables, "HOME");
    char stem[PATH_MAX];
    int n;

    n = snprintf(stem, sizeof(stem), "%s%s%s", *cache ? cache : home, *cache ? "" : "/.cache",
                 "/torch/comm_lib_trace_rank_");
    if ((*cache || *home) && n < PATH_MAX)
        file_add(d, pid, stem, rank);
    file_add(d, pid, "/tmp/nccl_trace_rank_", rank);
}

bool flight_dump_ask(struct flight_dump *d, char *const *variables, pid_t pid, int rank)
{
    const char *pipe = value_of(variables, "TORCH_NCCL_DEBUG_INFO_PIPE_FILE");
    const char *file = value_of(variables, "TORCH_FR_DUMP_TEMP_FILE");
    char path[PATH_MAX];
    struct stat st;
    bool is_asked;
    int fd;

    *d = (struct flight_dump){0};
    if (!*pipe || !path_make(path, pid, pipe, rank, ".pipe"))
        return false;
    /* Without a reader this fails at once. */
    fd = open(path, O_WRONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return false;
    if (!*file)
        file = value_of(variables, "TORCH_NCCL_DEBUG_INFO_TEMP_FILE");
    if (*file)
        file_add(d, pid, file, rank);
    else
        files_guess(d, variables, pid, rank);
    is_asked = fstat(fd, &st) == 0 && S_ISFIFO(st.st_mode) && write(fd, "1", 1) == 1;
    close(fd);
    return is_asked;
}

static bool is_same(const struct stat *a, const struct stat *b)
{
    return a->st_ino == b->st_ino && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* Reads the whole file; NULL: it is not a dump, or not yet. */
static json_t *file_read(int fd, size_t size)
{
    char *bytes = malloc(size);
    json_t *dump = NULL;
    size_t used = 0;
    ssize_t n = 1;

    while (bytes && used < size && n > 0) {
        n = pread(fd, bytes + used, size - used, (off_t)used);
        used += n > 0 ? (size_t)n : 0;
    }
    if (bytes)
        dump = pickle_value_read(bytes, used);
    free(bytes);
    return dump;
}

bool flight_dump_look(struct flight_dump *d)
{
    for (int i = 0; i < d->count && !d->dump; i++) {
        int fd = open(d->files[i], O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
        struct stat st;

        if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
            st.st_size > 0 && st.st_size <= DUMP_MOST && !is_same(&st, &d->seen[i])) {
            d->seen[i] = st;
            d->dump = file_read(fd, (size_t)st.st_size);
        }
        if (fd >= 0)
            close(fd);
    }
    return d->dump;
}

void flight_dump_close(struct flight_dump *d)
{
    json_decref(d->dump);
    d->dump = NULL;
}

/* SPDX-License-Identifier: MIT */
#include "launcher/agent/rank/received_files.h"

#include "common/text/number.h"
#include "launcher/agent/rank/received_libraries.h"
#include "launcher/base/text/temporary_directory.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

struct received_file {
    char *path; /* NULL: no rank of this host needs it */
    int same;   /* the first file with the same contents; its own index if it is that itself */
};

struct received_files {
    const struct job_spec *job;
    struct received_file *files; /* as many as job->files */
    int next;                    /* the file that comes, or its number if none does */
    int fd;                      /* the file that comes, or -1 */
    uint64_t at;                 /* bytes of it that have come */
    crypto_generichash_state hash;
};

/* Whether a rank of this host runs the copy of the app's program. */
static bool app_is_copied(const struct job_spec *job, int app)
{
    for (int i = 0; i < job->rank_count && job->apps[app].file >= 0; i++)
        if (job->ranks[i].app == app)
            return true;
    return false;
}

static bool is_sent(const struct received_files *r, int index)
{
    return r->files[index].path && r->files[index].same == index;
}

static bool is_same(const struct job_copy *a, const struct job_copy *b)
{
    return a->size == b->size && a->is_executable == b->is_executable &&
           memcmp(a->hash, b->hash, sizeof(a->hash)) == 0;
}

/* Where the copy of a program lies, and its libraries. */
static void directory_name(char out[512], const char *dir, int program)
{
    snprintf(out, 512, "%s/files/%d", dir, program);
}

static int file_prepare(struct received_files *r, int index, const char *parent, struct fault *why)
{
    if (asprintf(&r->files[index].path, "%s/%s", parent, r->job->files[index].name) < 0) {
        r->files[index].path = NULL;
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    }
    return 0;
}

/* The program of one app, and those of its libraries that this host lacks. */
static int app_prepare(struct received_files *r, const struct job_app *app, const char *dir,
                       const char *cwd, struct fault *why)
{
    const struct job_spec *job = r->job;
    bool *is_wanted = calloc((size_t)job->file_count, sizeof(*is_wanted));
    char parent[512];
    int rc;

    if (!is_wanted)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    directory_name(parent, dir, app->file);
    rc = received_libraries_find(is_wanted, job, app, parent, cwd, why);
    if (!rc && !r->files[app->file].path && mkdir(parent, 0700))
        rc = fault_os(why, ML_ERR_SYSTEM, errno, "cannot make %s", parent);
    is_wanted[app->file] = true;
    for (int i = 0; i < job->file_count && !rc; i++)
        if (is_wanted[i] && !r->files[i].path)
            rc = file_prepare(r, i, parent, why);
    free(is_wanted);
    return rc;
}

static void same_find(struct received_files *r)
{
    const struct job_copy *files = r->job->files;

    for (int i = 0; i < r->job->file_count; i++) {
        int *same = &r->files[i].same;

        for (*same = 0; *same < i; ++*same)
            if (r->files[*same].path && is_same(&files[*same], &files[i]))
                break;
    }
}

static int room_check(const struct received_files *r, const char *dir, struct fault *why)
{
    const char *place = temporary_directory(r->job->options.tmpdir);
    char needs[NUMBER_SIZE], has[NUMBER_SIZE];
    struct statvfs fs;
    uint64_t needed = 0, room;

    for (int i = 0; i < r->job->file_count; i++)
        if (is_sent(r, i))
            needed += r->job->files[i].size;
    if (statvfs(dir, &fs))
        return 0;
    if (fs.f_flag & ST_NOEXEC)
        return fault_set(why, ML_ERR_SYSTEM,
                         "--stage copies the program to %s, which is mounted noexec there: "
                         "remount it with exec, or put the program into a directory that is on all "
                         "hosts and leave out --stage",
                         place);
    room = (uint64_t)fs.f_bavail * fs.f_frsize;
    if (needed > room)
        return fault_set(why, ML_ERR_SYSTEM,
                         "--stage copies %s to %s, where only %s are free: make room there",
                         number_size(needs, needed), place, number_size(has, room));
    return 0;
}

/* Opens the next file that is sent. The copies that are not sent are links to one that was. */
static int next_open(struct received_files *r, struct fault *why)
{
    for (; r->next < r->job->file_count; r->next++) {
        const struct received_file *f = &r->files[r->next];

        if (!f->path)
            continue;
        if (f->same != r->next) {
            if (link(r->files[f->same].path, f->path))
                return fault_os(why, ML_ERR_SYSTEM, errno, "cannot make %s", f->path);
            continue;
        }
        r->fd = open(f->path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                     r->job->files[r->next].is_executable ? 0700 : 0600);
        if (r->fd < 0)
            return fault_os(why, ML_ERR_SYSTEM, errno, "cannot write %s", f->path);
        r->at = 0;
        crypto_generichash_init(&r->hash, NULL, 0, JOB_COPY_HASH);
        if (r->job->files[r->next].size > 0)
            return 0;
        close(r->fd); /* an empty one has come as soon as it is open */
        r->fd = -1;
    }
    return 0;
}

static int files_prepare(struct received_files *r, const char *dir, char *const *cwds,
                         struct fault *why)
{
    char parent[512];
    int rc = 0;

    snprintf(parent, sizeof(parent), "%s/files", dir);
    if (mkdir(parent, 0700))
        return fault_os(why, ML_ERR_SYSTEM, errno, "cannot make %s", parent);
    for (int i = 0; i < r->job->app_count && !rc; i++)
        if (app_is_copied(r->job, i))
            rc = app_prepare(r, &r->job->apps[i], dir, cwds ? cwds[i] : "/", why);
    same_find(r);
    if (!rc)
        rc = room_check(r, dir, why);
    return rc ? rc : next_open(r, why);
}

int received_files_open(struct received_files **out, const struct job_spec *job, const char *dir,
                        char *const *cwds, struct fault *why)
{
    struct received_files *r;
    bool is_needed = false;
    int rc;

    for (int i = 0; i < job->app_count; i++)
        is_needed |= app_is_copied(job, i);
    if (!is_needed)
        return 0;
    if (sodium_init() < 0)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    r = calloc(1, sizeof(*r));
    if (r)
        r->files = calloc((size_t)job->file_count, sizeof(*r->files));
    if (!r || !r->files) {
        free(r);
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    }
    r->job = job;
    r->fd = -1;
    rc = files_prepare(r, dir, cwds, why);
    if (rc)
        received_files_close(r);
    else
        *out = r;
    return rc;
}

void received_files_close(struct received_files *r)
{
    if (!r)
        return;
    if (r->fd >= 0)
        close(r->fd);
    for (int i = 0; i < r->job->file_count; i++)
        free(r->files[i].path);
    free(r->files);
    free(r);
}

json_t *received_files_wanted(const struct received_files *r)
{
    json_t *list = json_array();

    for (int i = 0; i < r->job->file_count; i++)
        if (is_sent(r, i) && r->job->files[i].size > 0)
            json_array_append_new(list, json_integer(i));
    return list;
}

bool received_files_are_whole(const struct received_files *r)
{
    return !r || r->next == r->job->file_count;
}

static int file_end(struct received_files *r, struct fault *why)
{
    const struct job_copy *file = &r->job->files[r->next];
    uint8_t hash[JOB_COPY_HASH];
    int err = close(r->fd) ? errno : 0; /* a network file system may report here what it lacks */

    r->fd = -1;
    if (err)
        return fault_os(why, ML_ERR_SYSTEM, err, "cannot write %s", r->files[r->next].path);
    crypto_generichash_final(&r->hash, hash, sizeof(hash));
    if (memcmp(hash, file->hash, sizeof(hash)) != 0)
        return fault_set(why, ML_ERR_REFUSED,
                         "the copy of %s is not what mlaunch has read before: the program was "
                         "changed while it was copied; start the job again",
                         file->name);
    r->next++;
    return next_open(r, why);
}

int received_files_add(struct received_files *r, uint32_t index, const void *bytes, size_t size,
                       struct fault *why)
{
    const char *from = bytes;

    if (!r || r->fd < 0 || index != (uint32_t)r->next || size > r->job->files[r->next].size - r->at)
        return fault_set(why, ML_ERR_REFUSED, "the launcher sent a file that was not announced");
    crypto_generichash_update(&r->hash, bytes, size);
    r->at += size;
    while (size > 0) {
        ssize_t n = write(r->fd, from, size);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return fault_os(why, ML_ERR_SYSTEM, errno, "--stage: cannot write %s",
                            r->files[r->next].path);
        from += n;
        size -= (size_t)n;
    }
    return r->at == r->job->files[r->next].size ? file_end(r, why) : 0;
}

const char *received_files_path(const struct received_files *r, int index)
{
    return r->files[index].path;
}

char *received_files_libraries(const struct received_files *r, int program)
{
    const char *path = r && program >= 0 ? r->files[program].path : NULL;

    for (int i = 0; path && i < r->job->file_count; i++)
        if (r->files[i].path && r->job->files[i].beside == program)
            return strndup(path, (size_t)(strrchr(path, '/') - path));
    return NULL;
}

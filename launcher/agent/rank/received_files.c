/* SPDX-License-Identifier: MIT */
#include "launcher/agent/rank/received_files.h"

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
    const struct job_message *job;
    struct received_file *files; /* as many as job->files */
    int next;                    /* the file that comes, or its number if none does */
    int fd;                      /* of that one, or -1 */
    uint64_t at;                 /* bytes of it that have come */
    crypto_generichash_state hash;
};

static bool is_sent(const struct received_files *r, int index)
{
    return r->files[index].path && r->files[index].same == index;
}

static bool is_same(const struct job_copy *a, const struct job_copy *b)
{
    return a->size == b->size && a->is_executable == b->is_executable &&
           memcmp(a->hash, b->hash, sizeof(a->hash)) == 0;
}

static int file_prepare(struct received_files *r, int index, const char *dir, struct fault *why)
{
    const struct job_copy *files = r->job->files;
    struct received_file *f = &r->files[index];
    char parent[512];

    if (f->path)
        return 0;
    snprintf(parent, sizeof(parent), "%s/files/%d", dir, index);
    if (asprintf(&f->path, "%s/%s", parent, files[index].name) < 0) {
        f->path = NULL;
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    }
    for (f->same = 0; f->same < index; f->same++)
        if (r->files[f->same].path && is_same(&files[f->same], &files[index]))
            break;
    if (mkdir(parent, 0700))
        return fault_os(why, ML_ERR_SYSTEM, errno, "cannot make %s", parent);
    return 0;
}

/* The number of bytes, with its unit. */
static const char *size_show(char text[32], uint64_t size)
{
    static const char *const units[] = {"bytes", "KB", "MB", "GB", "TB"};
    double number = (double)size;
    int unit = 0;

    for (; number >= 1000 && unit < 4; unit++)
        number /= 1000;
    snprintf(text, 32, unit ? "%.1f %s" : "%.0f %s", number, units[unit]);
    return text;
}

static int room_check(const struct received_files *r, const char *dir, struct fault *why)
{
    char needs[32], has[32];
    struct statvfs fs;
    uint64_t needed = 0, room;

    for (int i = 0; i < r->job->file_count; i++)
        if (is_sent(r, i))
            needed += r->job->files[i].size;
    if (statvfs(dir, &fs))
        return 0;
    if (fs.f_flag & ST_NOEXEC)
        return fault_set(why, ML_ERR_SYSTEM,
                         "--stage copies the program to /tmp, which is mounted noexec there: "
                         "remount it with exec, or put the program into a directory that is on all "
                         "hosts and leave out --stage");
    room = (uint64_t)fs.f_bavail * fs.f_frsize;
    if (needed > room)
        return fault_set(why, ML_ERR_SYSTEM,
                         "--stage copies %s to /tmp, where only %s are free: make room there",
                         size_show(needs, needed), size_show(has, room));
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

static int files_prepare(struct received_files *r, const char *dir, struct fault *why)
{
    char parent[512];
    int rc = 0;

    snprintf(parent, sizeof(parent), "%s/files", dir);
    if (mkdir(parent, 0700))
        return fault_os(why, ML_ERR_SYSTEM, errno, "cannot make %s", parent);
    for (int i = 0; i < r->job->rank_count && !rc; i++) {
        int file = r->job->apps[r->job->ranks[i].app].file;

        if (file >= 0)
            rc = file_prepare(r, file, dir, why);
    }
    if (!rc)
        rc = room_check(r, dir, why);
    return rc ? rc : next_open(r, why);
}

int received_files_open(struct received_files **out, const struct job_message *job, const char *dir,
                        struct fault *why)
{
    struct received_files *r;
    bool is_needed = false;
    int rc;

    for (int i = 0; i < job->rank_count; i++)
        is_needed |= job->apps[job->ranks[i].app].file >= 0;
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
    rc = files_prepare(r, dir, why);
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

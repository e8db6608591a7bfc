/* SPDX-License-Identifier: MIT */
#include "launcher/agent/keeper/keeper_serve.h"

#include "common/net/kept_stream.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { PIECE = 256 << 10 };

struct visit {
    const struct keeper_job *job;
    struct kept_stream *stream;
    int rank; /* the peer's, whose slots alone it may reach */
    struct kept_ask ask;
    unsigned char head[KEPT_HEAD];
    unsigned char *piece; /* PIECE bytes */
    struct visit *next;
    pthread_mutex_t lock; /* while it changes a copy */
    bool is_over;         /* under it: the rank's next process is here, and has the slots */
};

/* All of them. */
static struct {
    pthread_mutex_t lock;
    struct visit *first;
} visits = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* What a process had sent before it died may still come; the next one's copies stay unharmed. */
static void visit_add(struct visit *v)
{
    pthread_mutex_init(&v->lock, NULL);
    pthread_mutex_lock(&visits.lock);
    for (struct visit *other = visits.first; other; other = other->next) {
        if (other->rank != v->rank)
            continue;
        pthread_mutex_lock(&other->lock);
        other->is_over = true;
        pthread_mutex_unlock(&other->lock);
    }
    v->next = visits.first;
    visits.first = v;
    pthread_mutex_unlock(&visits.lock);
}

static void visit_remove(struct visit *v)
{
    struct visit **at = &visits.first;

    pthread_mutex_lock(&visits.lock);
    while (*at != v)
        at = &(*at)->next;
    *at = v->next;
    pthread_mutex_unlock(&visits.lock);
    pthread_mutex_destroy(&v->lock);
}

/* As kept_write_at. */
static bool visit_write(struct visit *v, int fd, const void *bytes, size_t size, int64_t at)
{
    bool is_written;

    pthread_mutex_lock(&v->lock);
    errno = ESTALE;
    is_written = !v->is_over && kept_write_at(fd, bytes, size, at);
    pthread_mutex_unlock(&v->lock);
    return is_written;
}

/* A plain file of this user, or -1 with errno. */
static int file_open(const struct visit *v, int flags, struct stat *st)
{
    char path[KEPT_PATH];
    int fd;

    kept_path(path, v->job->dir, v->rank, (int)v->ask.slot, v->ask.name);
    fd = open(path, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
    if (fd >= 0 && fstat(fd, st) == 0 && S_ISREG(st->st_mode) && st->st_uid == geteuid())
        return fd;
    if (fd >= 0) {
        close(fd);
        errno = EACCES;
    }
    return -1;
}

static bool answer_send(const struct visit *v, int error, uint64_t size)
{
    const struct kept_answer answer = {.error = error, .size = size};

    return kept_stream_send(v->stream, &answer, sizeof(answer));
}

/* --- PUT -------------------------------------------------------------------------------------- */

/* 0, or an errno: before the copy loses what is in it. tmpfs without a limit has 0 blocks. */
static int room_check(int fd, const struct stat *st, uint64_t size)
{
    struct statvfs fs;

    if (size > INT64_MAX - KEPT_HEAD)
        return EFBIG;
    if (fstatvfs(fd, &fs) != 0 || fs.f_blocks == 0)
        return 0;
    return size + KEPT_HEAD <= (uint64_t)fs.f_bavail * fs.f_frsize + (uint64_t)st->st_blocks * 512
               ? 0
               : ENOSPC;
}

/* Makes the copy empty, and as long as it will be. Returns an errno, or 0. */
static int copy_begin(struct visit *v, int fd, uint64_t size)
{
    static const unsigned char unsealed[KEPT_HEAD];
    int error = ESTALE;

    pthread_mutex_lock(&v->lock);
    if (!v->is_over)
        error = kept_write_at(fd, unsealed, sizeof(unsealed), 0) &&
                        ftruncate(fd, (off_t)(KEPT_HEAD + size)) == 0
                    ? 0
                    : errno;
    pthread_mutex_unlock(&v->lock);
    return error;
}

/* The head comes last. False: the peer is gone. *error: an errno, or 0. */
static bool copy_fill(struct visit *v, int fd, int *error)
{
    for (uint64_t at = 0; at < v->ask.size; at += PIECE) {
        size_t n = v->ask.size - at < PIECE ? (size_t)(v->ask.size - at) : PIECE;

        if (!kept_stream_receive(v->stream, v->piece, n, false))
            return false;
        if (!*error && !visit_write(v, fd, v->piece, n, (int64_t)(KEPT_HEAD + at)))
            *error = errno;
    }
    if (!kept_stream_receive(v->stream, v->head, sizeof(v->head), false))
        return false;
    if (!*error && !visit_write(v, fd, v->head, sizeof(v->head), 0))
        *error = errno;
    return true;
}

/* False: the connection is over. */
static bool slot_put(struct visit *v)
{
    struct stat st = {0};
    int fd = file_open(v, O_RDWR | O_CREAT, &st), error = fd < 0 ? errno : 0;
    bool goes_on;

    if (!error)
        error = room_check(fd, &st, v->ask.size);
    if (!error)
        error = copy_begin(v, fd, v->ask.size);
    goes_on = answer_send(v, error, 0);
    if (!error && goes_on)
        goes_on = copy_fill(v, fd, &error) && answer_send(v, error, 0);
    if (fd >= 0)
        close(fd);
    return goes_on;
}

/* --- GET and LOOK ----------------------------------------------------------------------------- */

/* The size of the data of a copy that is whole, its head in v->head; or -1. */
static int64_t copy_look(struct visit *v, int fd, const struct stat *st)
{
    static const unsigned char unsealed[KEPT_HEAD];

    if (fd < 0 || st->st_size < KEPT_HEAD ||
        pread(fd, v->head, sizeof(v->head), 0) != (ssize_t)sizeof(v->head) ||
        memcmp(v->head, unsealed, sizeof(unsealed)) == 0)
        return -1;
    return st->st_size - KEPT_HEAD;
}

/* LOOK, and GET, whose data follows. */
static bool slot_give(struct visit *v)
{
    struct stat st;
    int fd = file_open(v, O_RDONLY, &st);
    int64_t size = copy_look(v, fd, &st);
    bool goes_on = size < 0 ? answer_send(v, ENOENT, 0)
                            : answer_send(v, 0, (uint64_t)size) &&
                                  kept_stream_send(v->stream, v->head, sizeof(v->head));

    if (goes_on && size > 0 && v->ask.what == KEPT_GET)
        goes_on = kept_stream_send_file(v->stream, fd, (uint64_t)size, KEPT_HEAD);
    if (fd >= 0)
        close(fd);
    return goes_on;
}

/* --- the connection --------------------------------------------------------------------------- */

static bool ask_take(struct visit *v)
{
    struct kept_ask *ask = &v->ask;

    if (!kept_stream_receive(v->stream, ask, sizeof(*ask), true) ||
        !memchr(ask->name, '\0', sizeof(ask->name)) || !kept_is_name(ask->name) ||
        ask->slot >= KEPT_SLOTS)
        return false;
    if (ask->what == KEPT_PUT)
        return slot_put(v);
    return (ask->what == KEPT_GET || ask->what == KEPT_LOOK) && slot_give(v);
}

void keeper_answer(const struct keeper_job *job, struct kept_stream *stream, int rank)
{
    struct visit v = {.job = job, .stream = stream, .rank = rank};

    v.piece = rank >= 0 && rank < job->size ? malloc(PIECE) : NULL;
    if (v.piece) {
        visit_add(&v);
        while (ask_take(&v))
            ;
        visit_remove(&v);
    }
    free(v.piece);
    kept_stream_close(stream);
}

void keeper_serve(const struct keeper_job *job, int fd, void (*on_shaken)(void *arg), void *arg)
{
    struct kept_stream *stream;
    struct fault why;
    int rank, rc;

    rc = kept_stream_accept(&stream, fd, job->job, job->secret, job->is_secure, &rank, &why);
    if (on_shaken)
        on_shaken(arg);
    if (!rc)
        keeper_answer(job, stream, rank);
}

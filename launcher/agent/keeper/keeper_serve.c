/* SPDX-License-Identifier: MIT */
#include "launcher/agent/keeper/keeper_serve.h"

#include "common/net/kept_stream.h"

#include <errno.h>
#include <fcntl.h>
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
};

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
static int copy_begin(int fd, uint64_t size)
{
    static const unsigned char unsealed[KEPT_HEAD];

    return kept_write_at(fd, unsealed, sizeof(unsealed), 0) &&
                   ftruncate(fd, (off_t)(KEPT_HEAD + size)) == 0
               ? 0
               : errno;
}

/* The head comes last. False: the peer is gone. *error: an errno, or 0. */
static bool copy_fill(struct visit *v, int fd, int *error)
{
    for (uint64_t at = 0; at < v->ask.size; at += PIECE) {
        size_t n = v->ask.size - at < PIECE ? (size_t)(v->ask.size - at) : PIECE;

        if (!kept_stream_receive(v->stream, v->piece, n, false))
            return false;
        if (!*error && !kept_write_at(fd, v->piece, n, (int64_t)(KEPT_HEAD + at)))
            *error = errno;
    }
    if (!kept_stream_receive(v->stream, v->head, sizeof(v->head), false))
        return false;
    if (!*error && !kept_write_at(fd, v->head, sizeof(v->head), 0))
        *error = errno;
    return true;
}

/* False: the connection is over. */
static bool slot_put(struct visit *v)
{
    struct stat st;
    int fd = file_open(v, O_RDWR | O_CREAT, &st), error = fd < 0 ? errno : 0;
    bool goes_on;

    if (!error)
        error = room_check(fd, &st, v->ask.size);
    if (!error)
        error = copy_begin(fd, v->ask.size);
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
    while (v.piece && ask_take(&v))
        ;
    free(v.piece);
    kept_stream_close(stream);
}

void keeper_serve(const struct keeper_job *job, int fd)
{
    struct kept_stream *stream;
    struct fault why;
    int rank;

    if (kept_stream_accept(&stream, fd, job->job, job->secret, job->is_secure, &rank, &why) == 0)
        keeper_answer(job, stream, rank);
}

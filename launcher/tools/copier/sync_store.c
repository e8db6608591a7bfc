/* SPDX-License-Identifier: MIT */
#include "launcher/tools/copier/sync_store.h"

#include "launcher/base/tree/sync_wire.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PAGE = 4096 };

void sync_store_open(struct sync_store *s, struct sync_copy *copy)
{
    *s = (struct sync_store){.copy = copy, .fd = -1};
}

void sync_store_leave(struct sync_store *s)
{
    if (s->fd >= 0)
        close(s->fd);
    s->fd = -1;
}

/* Gives the file up. Nothing stays of it: what could not be written should not fill the disk. */
static void store_fail(struct sync_store *s, int err, const char *text)
{
    const struct tree_entry *e = &s->copy->list.entries[s->index];

    sync_copy_fail(s->copy, "write", e->root, e->path, err, text);
    if (s->fd < 0)
        return;
    sync_store_leave(s);
    unlinkat(s->directory, s->temporary, 0);
}

/* A file of the temporary name may be anything; only what an interrupted run has left is resumed.
 * Returns whether s->fd is open; else errno. */
static bool part_open(struct sync_store *s)
{
    struct stat st;

    s->fd = openat(s->directory, s->temporary, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (s->fd < 0)
        return false;
    if (sync_copy_is_part(s->fd, &st))
        return true;
    sync_store_leave(s);
    errno = 0;
    return false;
}

static bool part_create(struct sync_store *s)
{
    if (unlinkat(s->directory, s->temporary, 0) && errno != ENOENT)
        return false;
    s->fd = openat(s->directory, s->temporary, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                   SYNC_PART_MODE);
    return s->fd >= 0;
}

void sync_store_begin(struct sync_store *s, uint32_t index, uint64_t at)
{
    struct sync_copy *c = s->copy;
    const struct tree_entry *e = &c->list.entries[index];
    int err;

    s->index = index;
    s->at = s->begun = at;
    s->directory = sync_copy_go(c, e->root, e->path, &s->name);
    if (s->directory < 0) {
        if (errno == ENOTDIR || errno == ELOOP || errno == ENOENT)
            c->failed++; /* the directory has been named before */
        else
            store_fail(s, errno, NULL);
        return;
    }
    sync_copy_temporary(s->temporary, s->name);
    if (!part_open(s) && at == 0 && !part_create(s)) {
        store_fail(s, errno, NULL);
        return;
    }
    if (s->fd < 0) {
        store_fail(s, 0, "the part of it that was there is gone: sync again");
        return;
    }
    if (flock(s->fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK) {
        sync_store_leave(s);
        store_fail(s, 0, "another mlaunch sync is writing it");
        return;
    }
    tree_hash_begin(&s->hash, c->order->secret, index);
    err = tree_hash_add_file(&s->hash, s->fd, at, c->block);
    if (!err && ftruncate(s->fd, (off_t)at))
        err = errno;
    if (err)
        store_fail(s, err, NULL);
}

/* 0, or an errno. */
static int bytes_write(int fd, const uint8_t *from, size_t size, uint64_t at)
{
    while (size > 0) {
        ssize_t n = pwrite(fd, from, size, (off_t)at);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno;
        from += n;
        at += (uint64_t)n;
        size -= (size_t)n;
    }
    return 0;
}

/* The same, but pages of zeros stay holes. */
static int pages_write(int fd, const uint8_t *from, size_t size, uint64_t at)
{
    size_t done = 0;
    int err = 0;

    while (done < size && !err) {
        size_t end = done;

        while (end < size && !tree_hash_is_zero(from + end, size - end < PAGE ? size - end : PAGE))
            end += size - end < PAGE ? size - end : PAGE;
        err = bytes_write(fd, from + done, end - done, at + done);
        done = end;
        while (done < size &&
               tree_hash_is_zero(from + done, size - done < PAGE ? size - done : PAGE))
            done += size - done < PAGE ? size - done : PAGE;
    }
    return err;
}

/* Blocks of zeros are not sent; where the file has no holes, they are written. */
static int gap_fill(struct sync_store *s, uint64_t end)
{
    int err = 0;

    if (s->at >= end || s->copy->list.entries[s->index].is_sparse)
        return 0;
    memset(s->copy->block, 0, SYNC_BLOCK_MOST);
    while (s->at < end && !err) {
        size_t size = end - s->at < SYNC_BLOCK_MOST ? (size_t)(end - s->at) : SYNC_BLOCK_MOST;

        err = bytes_write(s->fd, s->copy->block, size, s->at);
        s->at += size;
    }
    return err;
}

void sync_store_add(struct sync_store *s, uint64_t at, const void *bytes, size_t size)
{
    int err;

    if (s->fd < 0)
        return;
    err = gap_fill(s, at);
    if (!err)
        err = s->copy->list.entries[s->index].is_sparse ? pages_write(s->fd, bytes, size, at)
                                                        : bytes_write(s->fd, bytes, size, at);
    if (err) {
        store_fail(s, err, NULL);
        return;
    }
    s->at = at + size;
    tree_hash_add(&s->hash, at, bytes, size);
}

/* 0, or an errno. */
static int file_finish(struct sync_store *s, const struct tree_entry *e)
{
    const struct timespec times[2] = {{.tv_nsec = UTIME_NOW},
                                      {.tv_sec = (time_t)e->seconds, .tv_nsec = e->nanoseconds}};
    int err = gap_fill(s, e->size);

    if (!err &&
        (ftruncate(s->fd, (off_t)e->size) || fchmod(s->fd, e->mode) || futimens(s->fd, times)))
        err = errno;
    if (err)
        return err;
    err = close(s->fd) ? errno : 0; /* a network file system may report here what it lacks */
    s->fd = -1;
    if (!err && renameat(s->directory, s->temporary, s->directory, s->name))
        err = errno;
    if (err)
        unlinkat(s->directory, s->temporary, 0);
    return err;
}

void sync_store_end(struct sync_store *s, const uint8_t hash[TREE_HASH])
{
    const struct tree_entry *e = &s->copy->list.entries[s->index];
    uint8_t own[TREE_HASH];
    int err;

    if (s->fd < 0)
        return;
    tree_hash_end(&s->hash, e->size, own);
    if (sodium_memcmp(own, hash, sizeof(own))) {
        store_fail(s, 0, "what has come is not what was sent");
        return;
    }
    err = file_finish(s, e);
    if (err) {
        store_fail(s, err, NULL);
        return;
    }
    s->copy->files++;
    s->copy->bytes += e->size - s->begun;
    s->copy->differs[s->index] = 0;
}

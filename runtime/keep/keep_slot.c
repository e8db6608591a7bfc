/* SPDX-License-Identifier: MIT */
#include "runtime/keep/keep_slot.h"

#include "runtime/call/task_hash.h"
#include "runtime/process/stdio_guard.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { PIECE = 256 << 10 }; /* bytes that are copied, then hashed while they are in the cache */

static const uint64_t MAGIC = 0x313070656b6c6d6dull; /* any number that no other file begins with */

int keep_slot_compare(const struct keep_stamp *a, const struct keep_stamp *b)
{
    if (a->course != b->course)
        return a->course < b->course ? -1 : 1;
    return (a->version > b->version) - (a->version < b->version);
}

/* A descriptor of the slot's file, or -1 with errno: a plain file of this user. */
static int slot_open(const struct keep_owner *o, int slot, int flags, struct stat *st)
{
    char path[KEPT_PATH];
    int held[STDIO_GUARD], fd, err;

    kept_path(path, o->dir, o->rank, slot, o->name);
    stdio_guard_begin(held);
    fd = open(path, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
    err = errno;
    stdio_guard_end(held);
    if (fd >= 0 && fstat(fd, st) == 0 && S_ISREG(st->st_mode) && st->st_uid == geteuid())
        return fd;
    if (fd >= 0) {
        close(fd);
        err = EACCES;
    }
    errno = err;
    return -1;
}

static uint64_t head_hash(const struct keep_head *h)
{
    return task_hash_bytes(MAGIC, h, offsetof(struct keep_head, head_hash));
}

static bool is_text(const char *field, size_t size, const char *text)
{
    return memchr(field, '\0', size) && strcmp(field, text) == 0;
}

static bool head_is_of(const struct keep_head *h, const struct keep_owner *o, off_t file_size)
{
    return h->magic == MAGIC && h->head_hash == head_hash(h) &&
           is_text(h->job, sizeof(h->job), o->job) && is_text(h->name, sizeof(h->name), o->name) &&
           h->rank == (uint32_t)o->rank && file_size >= KEPT_HEAD &&
           h->size == (uint64_t)file_size - KEPT_HEAD;
}

bool keep_slot_head(const struct keep_owner *o, const unsigned char page[KEPT_HEAD], uint64_t size,
                    struct keep_head *out)
{
    struct keep_head head;

    memcpy(&head, page, sizeof(head));
    if (size > INT64_MAX - KEPT_HEAD || !head_is_of(&head, o, (off_t)(KEPT_HEAD + size)))
        return false;
    *out = head;
    return true;
}

int keep_slot_open(const struct keep_owner *o, int slot, struct keep_head *out)
{
    struct stat st;
    struct keep_head head;
    int fd = slot_open(o, slot, O_RDONLY, &st);

    if (fd < 0)
        return -1;
    if (pread(fd, &head, sizeof(head), 0) != (ssize_t)sizeof(head) ||
        !head_is_of(&head, o, st.st_size)) {
        close(fd);
        errno = EINVAL;
        return -1;
    }
    *out = head;
    return fd;
}

enum keep_slot_state keep_slot_look(const struct keep_owner *o, int slot, struct keep_head *out)
{
    int fd = keep_slot_open(o, slot, out);

    if (fd < 0)
        return errno == ENOENT ? KEEP_SLOT_NONE : KEEP_SLOT_TORN;
    close(fd);
    return KEEP_SLOT_WHOLE;
}

void keep_slots_look(struct keep_slots *s, const struct keep_owner *o)
{
    for (int i = 0; i < KEPT_SLOTS; i++)
        s->state[i] = keep_slot_look(o, i, &s->head[i]);
}

bool keep_slot_is_older(const struct keep_head *a, const struct keep_head *b)
{
    int order = keep_slot_compare(&a->stamp, &b->stamp);

    return order ? order < 0 : a->written < b->written;
}

void keep_slots_drop_later(struct keep_slots *s, const struct keep_owner *o,
                           const struct keep_stamp *now)
{
    for (int i = 0; i < KEPT_SLOTS; i++) {
        if (s->state[i] == KEEP_SLOT_WHOLE && keep_slot_compare(&s->head[i].stamp, now) > 0) {
            keep_slot_drop(o, i);
            s->state[i] = KEEP_SLOT_NONE;
        }
    }
}

int keep_slots_find(const struct keep_slots *s, const struct keep_stamp *stamp)
{
    int found = -1;

    for (int i = 0; i < KEPT_SLOTS; i++) {
        if (s->state[i] == KEEP_SLOT_WHOLE && keep_slot_compare(&s->head[i].stamp, stamp) == 0 &&
            (found < 0 || keep_slot_is_older(&s->head[found], &s->head[i])))
            found = i;
    }
    return found;
}

/* --- writing ---------------------------------------------------------------------------------- */

static int no_room(const struct keep_owner *o, const struct keep_head *h, uint64_t free_bytes,
                   struct fault *why)
{
    return fault_set(why, ML_ERR_SYSTEM,
                     "cannot keep version %llu of \"%s\": /dev/shm of host %s has no room for its "
                     "%llu KiB, of which %llu KiB are free (enlarge it, or keep less)",
                     (unsigned long long)h->stamp.version, o->name, o->host,
                     (unsigned long long)(h->size / 1024 + 1),
                     (unsigned long long)(free_bytes / 1024));
}

/* Before the slot loses what is in it. tmpfs without a limit says that it has 0 blocks. */
static int room_check(int fd, const struct keep_owner *o, const struct keep_head *h,
                      const struct stat *st, struct fault *why)
{
    struct statvfs fs;
    struct rlimit limit;
    uint64_t free_bytes;

    /* Beyond it the kernel would send SIGXFSZ. */
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
        h->size + KEPT_HEAD > limit.rlim_cur)
        return fault_set(why, ML_ERR_SYSTEM,
                         "cannot keep version %llu of \"%s\" on host %s: its %llu bytes are more "
                         "than this process may write to a file (ulimit -f)",
                         (unsigned long long)h->stamp.version, o->name, o->host,
                         (unsigned long long)h->size);
    if (fstatvfs(fd, &fs) != 0 || fs.f_blocks == 0)
        return 0;
    free_bytes = (uint64_t)fs.f_bavail * fs.f_frsize + (uint64_t)st->st_blocks * 512;
    return h->size + KEPT_HEAD <= free_bytes ? 0 : no_room(o, h, free_bytes, why);
}

static bool data_write(int fd, struct keep_head *h, const unsigned char *data, keep_slot_add *add,
                       void *arg)
{
    h->data_hash = 0;
    for (uint64_t at = 0; at < h->size; at += PIECE) {
        size_t n = h->size - at < PIECE ? (size_t)(h->size - at) : PIECE;

        if (!kept_write_at(fd, data + at, n, (off_t)(KEPT_HEAD + at)))
            return false;
        h->data_hash = task_hash_bytes(h->data_hash, data + at, n);
        if (add)
            add(data + at, n, arg);
    }
    return true;
}

static void head_fill(struct keep_head *h, const struct keep_owner *o)
{
    h->magic = MAGIC;
    memset(h->job, 0, sizeof(h->job));
    memset(h->name, 0, sizeof(h->name));
    snprintf(h->job, sizeof(h->job), "%s", o->job);
    snprintf(h->name, sizeof(h->name), "%s", o->name);
    h->rank = (uint32_t)o->rank;
}

static bool slot_fill(int fd, struct keep_head *h, const void *data, keep_slot_add *add, void *arg)
{
    static const struct keep_head unsealed;

    if (!kept_write_at(fd, &unsealed, sizeof(unsealed), 0) ||
        ftruncate(fd, (off_t)(KEPT_HEAD + h->size)) != 0 || !data_write(fd, h, data, add, arg))
        return false;
    h->head_hash = head_hash(h);
    return kept_write_at(fd, h, sizeof(*h), 0);
}

static int slot_refused(const struct keep_owner *o, const struct keep_head *h, int err,
                        struct fault *why)
{
    if (err == ENOSPC)
        return no_room(o, h, 0, why);
    return fault_os(why, ML_ERR_SYSTEM, err,
                    "cannot keep version %llu of \"%s\" in /dev/shm of host %s",
                    (unsigned long long)h->stamp.version, o->name, o->host);
}

int keep_slot_write(const struct keep_owner *o, int slot, struct keep_head *head, const void *data,
                    keep_slot_add *add, void *arg, struct fault *why)
{
    struct stat st;
    int fd, rc, err = 0;

    if (head->size > INT64_MAX - KEPT_HEAD)
        return no_room(o, head, 0, why);
    fd = slot_open(o, slot, O_RDWR | O_CREAT, &st);
    if (fd < 0)
        return slot_refused(o, head, errno, why);
    rc = room_check(fd, o, head, &st, why);
    if (rc == 0) {
        head_fill(head, o);
        if (!slot_fill(fd, head, data, add, arg))
            err = errno;
    }
    close(fd);
    if (rc == 0 && err == 0)
        return 0;
    if (err || st.st_size == 0)
        keep_slot_drop(o, slot);
    return err ? slot_refused(o, head, err, why) : rc;
}

/* -1: the slot cannot have it. Otherwise its file, empty and as long as it will be. */
static int taken_begin(const struct keep_owner *o, int slot, const struct keep_head *h)
{
    static const struct keep_head unsealed;
    struct fault ignored;
    struct stat st;
    int fd = slot_open(o, slot, O_RDWR | O_CREAT, &st);

    if (fd < 0)
        return -1;
    if (room_check(fd, o, h, &st, &ignored) == 0 &&
        kept_write_at(fd, &unsealed, sizeof(unsealed), 0) &&
        ftruncate(fd, (off_t)(KEPT_HEAD + h->size)) == 0)
        return fd;
    close(fd);
    return -1;
}

/* False: `next` has failed. `fd`: -1, or the file; *is_whole: it has all, and is what was kept. */
static bool taken_fill(int fd, uint64_t size, const struct keep_head *h, bool *is_whole,
                       bool (*next)(void *into, size_t size, void *arg), void *arg)
{
    unsigned char *piece = malloc(PIECE);
    bool goes_on = piece != NULL;
    uint64_t hash = 0;

    *is_whole = fd >= 0;
    for (uint64_t at = 0; at < size && goes_on; at += PIECE) {
        size_t n = size - at < PIECE ? (size_t)(size - at) : PIECE;

        goes_on = next(piece, n, arg);
        *is_whole = *is_whole && goes_on && kept_write_at(fd, piece, n, (int64_t)(KEPT_HEAD + at));
        if (*is_whole)
            hash = task_hash_bytes(hash, piece, n);
    }
    free(piece);
    *is_whole = *is_whole && goes_on && hash == h->data_hash;
    return goes_on;
}

bool keep_slot_take(const struct keep_owner *o, int slot, uint64_t size,
                    bool (*next)(void *into, size_t size, void *arg), void *arg, bool *is_whole)
{
    unsigned char page[KEPT_HEAD];
    struct keep_head head;
    bool goes_on;
    int fd = -1;

    *is_whole = false;
    if (!next(page, sizeof(page), arg))
        return false;
    if (keep_slot_head(o, page, size, &head))
        fd = taken_begin(o, slot, &head);
    goes_on = taken_fill(fd, size, &head, is_whole, next, arg);
    *is_whole = *is_whole && kept_write_at(fd, &head, sizeof(head), 0);
    if (fd >= 0)
        close(fd);
    if (fd >= 0 && !*is_whole)
        keep_slot_drop(o, slot);
    return goes_on;
}

void keep_slot_drop(const struct keep_owner *o, int slot)
{
    char path[KEPT_PATH];

    kept_path(path, o->dir, o->rank, slot, o->name);
    unlink(path);
}

/* --- reading ---------------------------------------------------------------------------------- */

/* True if all of them are there. */
static bool bytes_read(int fd, void *data, size_t size, off_t at)
{
    unsigned char *into = data;

    while (size) {
        ssize_t n = pread(fd, into, size, at);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        into += n;
        at += n;
        size -= (size_t)n;
    }
    return true;
}

/* `piece`: where each piece goes if there is no `into`. */
static bool data_is_whole(int fd, const struct keep_head *h, unsigned char *into,
                          unsigned char *piece)
{
    uint64_t hash = 0;

    for (uint64_t at = 0; at < h->size; at += PIECE) {
        size_t n = h->size - at < PIECE ? (size_t)(h->size - at) : PIECE;
        unsigned char *place = into ? into + at : piece;

        if (!bytes_read(fd, place, n, (off_t)(KEPT_HEAD + at)))
            return false;
        hash = task_hash_bytes(hash, place, n);
    }
    return hash == h->data_hash;
}

int keep_slot_read(const struct keep_owner *o, int slot, const struct keep_head *head, void *into,
                   struct fault *why)
{
    unsigned char *piece = into ? NULL : malloc(PIECE);
    struct stat st;
    bool is_whole;
    int fd;

    if (!into && !piece)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    fd = slot_open(o, slot, O_RDONLY, &st);
    is_whole = fd >= 0 && data_is_whole(fd, head, into, piece);
    if (fd >= 0)
        close(fd);
    free(piece);
    if (is_whole)
        return 0;
    return fault_set(why, ML_ERR_REFUSED,
                     "version %llu of \"%s\", which rank %d has kept on host %s, is damaged: its "
                     "bytes differ from the hash that was kept with them",
                     (unsigned long long)head->stamp.version, o->name, o->rank, o->host);
}

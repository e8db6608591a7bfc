/* SPDX-License-Identifier: MIT */
#include "runtime/process/calls_file.h"

#include "runtime/process/file_room.h"
#include "runtime/process/fork_guard.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { GROWTH = 65536 /* records by which a file of all calls grows: 5 MiB */ };

/* Addresses, not memory, that are reserved for a file of all calls: room for 3 billion. */
static const size_t MOST = (size_t)1 << 38;

static pthread_mutex_t grow_lock = PTHREAD_MUTEX_INITIALIZER;

static size_t calls_size(uint64_t calls)
{
    return sizeof(struct rank_calls) + calls * sizeof(struct rank_call);
}

static void calls_path(char path[RANK_CALLS_PATH], const char *dir, int rank, bool keeps_all)
{
    const char *name = strrchr(dir, '/');

    if (keeps_all)
        snprintf(path, RANK_CALLS_PATH, "%s/calls.%d", dir, rank);
    else
        snprintf(path, RANK_CALLS_PATH, "/dev/shm/mlaunch-%u-%s.calls.%d", (unsigned)geteuid(),
                 name ? name + 1 : dir, rank);
}

/* Its pages are allocated before they are written: writing to one that its file system has no room
 * for would end the process. */
static int file_open(const char *path, size_t size)
{
    int fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    struct stat st;

    if (fd < 0)
        return -1;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
        (st.st_size >= (off_t)size || file_room_take(fd, 0, (off_t)size) == 0))
        return fd;
    close(fd);
    return -1;
}

static bool file_map(struct calls_file *c, int fd, bool keeps_all)
{
    size_t size = calls_size(RANK_CALLS_LAST);
    struct stat st;
    void *at;

    c->mapped = keeps_all ? MOST : size;
    at = mmap(NULL, c->mapped, PROT_READ | PROT_WRITE,
              MAP_SHARED | (keeps_all ? MAP_NORESERVE : MAP_POPULATE), fd, 0);
    if (at == MAP_FAILED || fstat(fd, &st))
        return false;
    c->file = at;
    c->mask = keeps_all ? UINT64_MAX : RANK_CALLS_LAST - 1;
    c->limit = keeps_all
                   ? ((uint64_t)st.st_size - sizeof(struct rank_calls)) / sizeof(struct rank_call)
                   : UINT64_MAX;
    return true;
}

static void file_begin(struct calls_file *c, bool keeps_all)
{
    struct rank_calls *f = c->file;

    c->ticks_are_ns = !call_clock_is_even();
    if (f->magic == RANK_CALLS_MAGIC)
        return; /* an earlier generation has made it */
    f->keeps_all = keeps_all;
    f->ticks_are_ns = c->ticks_are_ns;
    f->opened = call_clock_now(c->ticks_are_ns);
    f->magic = RANK_CALLS_MAGIC;
}

struct calls_file *calls_file_open(const char *dir, int rank, uint32_t generation)
{
    const char *wanted = getenv("MLAUNCH_RECORD");
    bool has_hashes = wanted && strcmp(wanted, "hashes") == 0;
    bool keeps_all = has_hashes || (wanted && strcmp(wanted, "all") == 0);
    struct calls_file *c;
    char path[RANK_CALLS_PATH];
    int fd;

    if (wanted && strcmp(wanted, "off") == 0)
        return NULL;
    calls_path(path, dir, rank, keeps_all);
    c = calloc(1, sizeof(*c));
    fd = c ? file_open(path, calls_size(RANK_CALLS_LAST)) : -1;
    if (fd < 0 || !file_map(c, fd, keeps_all)) {
        if (fd >= 0)
            close(fd);
        free(c);
        return NULL;
    }
    file_begin(c, keeps_all);
    c->generation = (uint16_t)generation;
    c->keeps_times = keeps_all;
    c->has_hashes = has_hashes;
    c->fd = keeps_all ? fd : -1;
    if (keeps_all)
        fork_guard_add(fd);
    else
        close(fd);
    return c;
}

void calls_file_close(struct calls_file *c)
{
    if (!c)
        return;
    if (c->fd >= 0)
        fork_guard_close(c->fd);
    munmap(c->file, c->mapped);
    free(c);
}

bool calls_file_grow(struct calls_file *c, uint64_t n)
{
    uint64_t limit;

    pthread_mutex_lock(&grow_lock);
    limit = atomic_load_explicit(&c->limit, memory_order_relaxed);
    while (n >= limit && calls_size(limit + GROWTH) <= c->mapped &&
           file_room_take(c->fd, (off_t)calls_size(limit), GROWTH * sizeof(struct rank_call)) == 0)
        limit += GROWTH;
    atomic_store_explicit(&c->limit, limit, memory_order_release);
    pthread_mutex_unlock(&grow_lock);
    return n < limit;
}

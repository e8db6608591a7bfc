/* SPDX-License-Identifier: MIT */
#include "runtime/process/counters_file.h"

#include "runtime/process/file_room.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void counters_path(char path[RANK_COUNTERS_PATH], const char *dir, int rank)
{
    const char *name = strrchr(dir, '/');

    snprintf(path, RANK_COUNTERS_PATH, "/dev/shm/mlaunch-%u-%s.counters.%d", (unsigned)geteuid(),
             name ? name + 1 : dir, rank);
}

enum { FILE_FLAGS = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC };

/* Its pages are allocated here: writing to one that /dev/shm has no room for would end the
 * process. */
static void *file_map(const char *path, size_t size)
{
    int fd;
    void *at = MAP_FAILED;

    fd = open(path, FILE_FLAGS, 0600);
    if (fd < 0 && errno == EEXIST) { /* left by this process, before it joined again */
        unlink(path);
        fd = open(path, FILE_FLAGS, 0600);
    }
    if (fd < 0)
        return MAP_FAILED;
    if (file_room_take(fd, 0, (off_t)size) == 0)
        at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (at == MAP_FAILED)
        unlink(path);
    return at;
}

struct rank_counters *counters_file_open(const char *dir, int rank, char *const *hosts, int count)
{
    uint32_t kept = count < RANK_COUNTERS_HOSTS ? (uint32_t)count : RANK_COUNTERS_HOSTS;
    char path[RANK_COUNTERS_PATH];
    struct rank_counters *c;

    counters_path(path, dir, rank);
    c = file_map(path, rank_counters_size(kept));
    if (c == MAP_FAILED)
        return NULL;
    c->hosts = kept;
    for (uint32_t i = 0; i < kept; i++)
        counters_file_host(c, (int)i, hosts[i]);
    atomic_store_explicit(&c->magic, RANK_COUNTERS_MAGIC, memory_order_release);
    return c;
}

void counters_file_close(struct rank_counters *c)
{
    if (c)
        munmap(c, rank_counters_size(c->hosts));
}

void counters_file_host(struct rank_counters *c, int host, const char *name)
{
    if (c && name && (uint32_t)host < c->hosts)
        snprintf(c->host[host].name, RANK_COUNTERS_HOST, "%s",
                 host + 1 == RANK_COUNTERS_HOSTS ? "others" : name);
}

void counters_file_world(struct rank_counters *c, uint32_t membership, int members)
{
    if (!c)
        return;
    atomic_store_explicit(&c->membership, membership, memory_order_relaxed);
    atomic_store_explicit(&c->members, (uint64_t)members, memory_order_relaxed);
}

void counters_file_wait(struct call_counters *c, uint64_t ns)
{
    uint64_t bound = RANK_COUNTERS_FIRST;
    int i = 0;

    for (; i < RANK_COUNTERS_WAITS - 1 && ns > bound; i++)
        bound *= 10;
    rank_counters_add(&c->waits[i], 1);
    rank_counters_add(&c->wait_ns, ns);
}

/* The names are those of the transports' struct link_ops. */
struct link_counters *counters_file_links(struct rank_counters *c, int host, const char *name)
{
    static const char *const names[RANK_COUNTERS_LINKS] = {"self", "shared memory", "tcp", "rdma"};
    uint32_t at = (uint32_t)host < c->hosts ? (uint32_t)host : c->hosts - 1;

    for (int i = 0; i < RANK_COUNTERS_LINKS; i++) {
        if (strcmp(names[i], name) == 0)
            return &c->host[at].links[i];
    }
    return NULL;
}

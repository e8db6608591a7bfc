/* SPDX-License-Identifier: MIT */
/*
 * fuzz_world.c: any bytes as what the coordinator sends to a rank that joins the world, splits it,
 * makes a group, repairs the world and leaves: WELCOME, EXCHANGED, SPLITTED, RELAYED, CREATED,
 * REPAIRED and the others. Each line
 * of the input is a frame, two digits of its type and its payload; one arrives each time the rank
 * looks. After the last the connection is lost, which ends every wait. Connections to other ranks
 * and messages between ranks are stand-ins.
 */
#include "common/clock.h"
#include "coordinator/client.h"
#include "runtime/call/call.h"
#include "runtime/collective/collectives.h"
#include "runtime/group/exchange.h"
#include "runtime/group/world.h"
#include "runtime/tcp/tcp_door.h"
#include "runtime/tcp/tcp_eager.h"
#include "runtime/tcp/tcp_link.h"
#include "runtime/tcp/tcp_mesh.h"
#include "runtime/transport/self_link.h"
#include "runtime/world/group_join.h"
#include "runtime/world/repair.h"
#include "runtime/world/split.h"
#include "runtime/world/world_join.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { RANKS = 4, ME = 1, HOSTS = 2, LIMIT_MS = 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* --- the stand-in for client.c ---------------------------------------------------------------- */

struct client {
    const uint8_t *at, *end;
    uint8_t *payload; /* the frame that was given last */
    bool has_given;   /* every other look finds nothing */
};

static struct client coordinator;

int client_open(struct client **out, const char *address, const char *directory, const char *job,
                const uint8_t secret[AUTH_SECRET], int rank, uint32_t generation,
                int64_t deadline_ms, struct fault *why)
{
    (void)address, (void)directory, (void)job, (void)secret, (void)rank, (void)generation;
    (void)deadline_ms;
    (void)why;
    *out = &coordinator;
    return 0;
}

void client_close(struct client *c)
{
    free(c->payload);
    c->payload = NULL;
}

/* Always readable. */
int client_fd(const struct client *c)
{
    static int fd = -1;

    (void)c;
    if (fd < 0)
        fd = eventfd(1, EFD_CLOEXEC);
    return fd;
}

int client_send(struct client *c, uint8_t type, const void *payload, uint32_t size,
                struct fault *why)
{
    (void)c, (void)type, (void)payload, (void)size, (void)why;
    return 0;
}

int client_poll(struct client *c, struct frame *out, struct fault *why)
{
    const uint8_t *next;

    c->has_given = !c->has_given;
    if (!c->has_given)
        return 0;
    while (c->at < c->end) {
        const uint8_t *line = c->at;
        size_t size;

        next = memchr(line, '\n', (size_t)(c->end - line));
        next = next ? next : c->end;
        c->at = next < c->end ? next + 1 : next;
        if (next - line < 2)
            continue;
        size = (size_t)(next - line) - 2;
        free(c->payload);
        c->payload = malloc(size + 1);
        if (!c->payload)
            abort();
        memcpy(c->payload, line + 2, size);
        c->payload[size] = '\0';
        *out = (struct frame){(uint8_t)((line[0] - '0') * 10 + (line[1] - '0')), (uint32_t)size,
                              c->payload};
        return 1;
    }
    return fault_set(why, ML_ERR_PEER, "the connection was closed");
}

/* --- stand-ins for runtime/tcp, without links to other ranks, and for barrier.c --------------- */

struct tcp_mesh {
    struct exchange *where;
};

int tcp_mesh_open(struct tcp_mesh **out, struct group *g, const bool *needed, const char **where,
                  struct fault *why)
{
    (void)g, (void)needed;
    *out = calloc(1, sizeof(**out));
    *where = "127.0.0.1:1";
    return *out ? 0 : fault_set(why, ML_ERR_MEMORY, "out of memory");
}

void tcp_mesh_close(struct tcp_mesh *m)
{
    if (m && m->where)
        exchange_destroy(m->where);
    free(m);
}

void tcp_mesh_found(struct tcp_mesh *m, struct exchange *x)
{
    m->where = x;
}

int tcp_link_open_later(struct link **out, struct group *g, int peer, struct tcp_mesh *m,
                        struct fault *why)
{
    (void)peer, (void)m;
    return self_link_open(out, g, why);
}

int tcp_eager_run(struct group *g, int64_t deadline_ms, struct fault *why)
{
    (void)g, (void)deadline_ms, (void)why;
    abort();
}

void tcp_door_close(struct door *d)
{
    if (d)
        abort();
}

int barrier_run(struct group *g, struct fault *why)
{
    (void)g, (void)why;
    return 0;
}

/* --- the rank --------------------------------------------------------------------------------- */

static char job_dir[] = "/tmp/mlaunch-fuzz.XXXXXX";

static char counters[128], calls[128]; /* the files that the rank leaves to its agent */

static void directory_remove(void)
{
    DIR *dir = opendir(job_dir);
    struct dirent *entry;

    while (dir && (entry = readdir(dir)))
        unlinkat(dirfd(dir), entry->d_name, 0);
    if (dir)
        closedir(dir);
    rmdir(job_dir);
    unlink(counters);
    unlink(calls);
}

static void directory_make(void)
{
    static const uint8_t secret[AUTH_SECRET] = {1};
    struct job_file job = {.job = "fuzz",
                           .host = "a",
                           .hosts = HOSTS,
                           .size = RANKS,
                           .backend = "tcp",
                           .coordinator = "127.0.0.1:1",
                           .bind_ip = "127.0.0.1",
                           .init_timeout_ms = LIMIT_MS,
                           .elastic = 1,
                           .stall_ms = 10000};
    char rank[16];
    struct fault why;

    if (!mkdtemp(job_dir) || job_file_write(job_dir, &job, secret, &why))
        abort();
    atexit(directory_remove);
    snprintf(rank, sizeof(rank), "%d", ME);
    setenv("MLAUNCH_RANK", rank, 1);
    setenv("MLAUNCH_JOB_DIR", job_dir, 1);
    snprintf(counters, sizeof(counters), "/dev/shm/mlaunch-%u-%s.counters.%d", (unsigned)geteuid(),
             strrchr(job_dir, '/') + 1, ME);
    snprintf(calls, sizeof(calls), "/dev/shm/mlaunch-%u-%s.calls.%d", (unsigned)geteuid(),
             strrchr(job_dir, '/') + 1, ME);
}

static void check_group(const struct group *g)
{
    if (g->size < 1 || g->rank < 0 || g->rank >= g->size || g->members[g->rank] != ME)
        abort();
    for (int i = 0; i < g->size; i++)
        if (g->members[i] < 0 || g->members[i] >= RANKS || g->host_of[i] < 0 || !g->links[i])
            abort();
}

static void check_exchange(struct group *g)
{
    struct exchange *x;
    struct fault why;

    if (g->size < 2 || exchange_run(&x, g, (struct blob){"x", 1}, clock_ms() + 1000, &why))
        return;
    for (int i = 0; i < g->size; i++) {
        struct blob b = exchange_blob(x, i);
        volatile uint8_t last = b.size ? ((const uint8_t *)b.bytes)[b.size - 1] : 0;

        (void)last;
    }
    exchange_destroy(x);
}

static void split(struct world *w)
{
    struct group *g = NULL;
    struct fault why = {0};

    if (call_begin(w->group, CALL_SPLIT, "split", 0, 0, 0, -1, &why) ||
        split_run(w->group, 0, 0, "split", &g, &why)) {
        if (why.code >= 0 || !why.text[0])
            abort();
    } else if (g) {
        check_group(g);
        check_exchange(g);
        group_leave(g);
    }
}

/* An input that has no frames left would only wait, here and below. */
static void create(struct world *w)
{
    static const int members[] = {3, ME};
    struct group *g = NULL;
    struct fault why = {0};

    if (coordinator.at == coordinator.end)
        return;
    if (split_create_run(w->group, members, 2, 7, LIMIT_MS, &g, &why)) {
        if (why.code >= 0 || !why.text[0])
            abort();
        return;
    }
    check_group(g);
    check_exchange(g);
    group_leave(g);
}

static void repair(struct world *w)
{
    struct group *next = NULL, *old = w->group;
    struct ml_change change;
    struct fault why = {0};

    if (coordinator.at == coordinator.end)
        return;
    if (repair_run(old, &next, &change, &why)) {
        if (why.code >= 0 || !why.text[0] || next || w->group != old)
            abort();
        return;
    }
    check_group(next);
    if (w->group != next || change.membership < 1 || change.left_count < 0 ||
        change.left_count >= RANKS || change.came_count < 0 || change.came_count >= RANKS)
        abort();
    check_exchange(next);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct world *w = NULL;
    struct fault why = {0};

    if (!getenv("MLAUNCH_JOB_DIR"))
        directory_make();
    coordinator = (struct client){data, data + size, NULL, false};
    if (world_join_init(&w, false, &why)) {
        if (w || why.code >= 0 || !why.text[0])
            abort();
        return 0;
    }
    check_group(w->group);
    split(w);
    create(w);
    repair(w);
    split(w);
    world_join_finalize(&why);
    return 0;
}

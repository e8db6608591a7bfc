/* SPDX-License-Identifier: MIT */
#include "runtime/world/group_join.h"

#include "common/failure_times.h"
#include "common/text/number.h"
#include "coordinator/protocol.h"
#include "runtime/call/progress.h"
#include "runtime/gpu/cuda_driver.h"
#include "runtime/group/coord_events.h"
#include "runtime/group/exchange.h"
#include "runtime/group/matching.h"
#include "runtime/group/message_op.h"
#include "runtime/group/sleeper.h"
#include "runtime/group/world.h"
#include "runtime/process/bell.h"
#include "runtime/process/calls_file.h"
#include "runtime/process/peer_memory_linux.h"
#include "runtime/process/thread_linux.h"
#include "runtime/steps/algorithm_table.h"
#include "runtime/steps/hierarchy.h"
#include "runtime/tcp/tcp_eager.h"
#include "runtime/tcp/tcp_link.h"
#include "runtime/tcp/tcp_mesh.h"
#include "runtime/transport/rdma_link.h"
#include "runtime/transport/rdma_meet.h"
#include "runtime/transport/rdma_mesh.h"
#include "runtime/transport/self_link.h"
#include "runtime/transport/shm_link.h"

#include <poll.h>
#include <sodium.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
    KEY_SIZE = 8,    /* bytes of the key that ends a segment's name */
    DIR_SIZE = 128,  /* the most characters of the job directory's name in it */
    EARLY_MOST = 64, /* members of this host whose bells are opened early */
    EARLY_SHARE = 4, /* other groups' bells are opened early while < 1/4 of the table is used */
    PIECE = 4 << 20, /* bytes of a piece of a call with buffers on GPUs; not measured */
    PIECE_LEAST = 64 << 10,
    PIECE_MOST = 1 << 30,
    LOOK_MS = 1, /* between looks whether another thread has left its call */
};
_Static_assert(DIR_SIZE + 64 + 2 * KEY_SIZE < NAME_MAX, "a segment's name is not cut");

static const char AT_ONCE[] = "at once";

/* What is needed only until the group is up. */
struct bring_up {
    struct group *group;
    bool *uses_net; /* per rank of the group: it is reached over TCP or RDMA */
    int *locals;    /* ranks of the group that share memory, this one included, ascending */
    int local_count, local_index;
    /* Where this rank listens for TCP; with RDMA AT_ONCE, if all are to connect before any sends;
     * or "". */
    const char *where;
    int64_t deadline_ms;
};

/* Decides how each member is reached: by shared memory on one host, unless the network was asked
 * for there too (--local net). */
static int plan_links(struct bring_up *b, struct fault *why)
{
    struct group *g = b->group;

    b->uses_net = calloc((size_t)g->size, sizeof(*b->uses_net));
    b->locals = calloc((size_t)g->size, sizeof(*b->locals));
    if (!b->uses_net || !b->locals)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    for (int i = 0; i < g->size; i++) {
        bool is_local = g->host_of[i] == g->host_of[g->rank] && !g->world->job.local_net;

        if (i == g->rank)
            b->local_index = b->local_count;
        if (is_local || i == g->rank)
            b->locals[b->local_count++] = i;
        else
            b->uses_net[i] = true;
    }
    return 0;
}

/* The members of g on one host find the same name, and no other group of the job has it. It begins
 * with the job directory's, because the agent removes such segments at its end, and after a restart
 * the agent of an earlier run may end late. It ends in a key that only the job's secret gives:
 * otherwise another user who knows the job's id could take the next name. */
static void segment_name(const struct group *g, char name[NAME_MAX])
{
    const struct world *w = g->world;
    const char *slash = strrchr(w->dir, '/');
    uint8_t key[crypto_auth_hmacsha256_BYTES];
    int size =
        snprintf(name, NAME_MAX - 2 * KEY_SIZE, "/mlaunch-%u-%.*s.g%u.%u.", (unsigned)geteuid(),
                 DIR_SIZE, slash ? slash + 1 : w->dir, g->id, w->generation);

    crypto_auth_hmacsha256(key, (const unsigned char *)name, (size_t)size, w->secret);
    hex_write(name + size, key, KEY_SIZE);
}

/* Before the first exchange: prepares what other members will look for. */
static int prepare_links(struct bring_up *b, struct fault *why)
{
    struct group *g = b->group;
    char name[NAME_MAX];
    int rc = 0;

    if (b->local_count > 1 && b->local_index == 0) {
        segment_name(g, name);
        rc = shm_segment_create(&g->shared.segment, name, b->local_count, g->is_window, why);
    }
    if (rc || b->local_count == g->size)
        return rc;
    g->uses_tcp = strcmp(g->world->job.backend, "rdma") != 0;
    if (g->uses_tcp)
        /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): group_join frees uses_net. */
        return tcp_mesh_open(&g->mesh, g, b->uses_net, &b->where, why);
    if (g->is_window || g->world->is_eager)
        b->where = AT_ONCE;
    /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): group_join frees uses_net. */
    return rdma_meet_open(&g->meet, g, b->uses_net, why);
}

/* Peers' bells are better opened now than when they are needed: then the process may have a full
 * descriptor table, another user or another root directory. But a program with many groups needs
 * its descriptors itself: this rank's own bell got the lowest free one, so its number tells how
 * many are in use. The world is one group only, and gets its bells unless it has many ranks here,
 * most of which will never be woken by this one. */
static bool opens_bells_early(const struct group *g, int local_count)
{
    struct rlimit limit;

    if (local_count > EARLY_MOST && !g->world->is_eager)
        return false;
    return g->is_world || getrlimit(RLIMIT_NOFILE, &limit) != 0 ||
           (rlim_t)g->waiting.bell < limit.rlim_cur / EARLY_SHARE;
}

static int open_shm_link(struct bring_up *b, int index, bool is_early, struct fault *why)
{
    struct group *g = b->group;
    int peer = b->locals[index];
    int rc = is_early ? sleeper_find_bell(g, peer, why) : 0;
    struct shm_ring *ring;

    if (!rc)
        rc = shm_link_open(&g->links[peer], g, peer, g->shared.segment, b->local_index, index, why);
    return rc || !g->world->is_eager ? rc
                                     : shm_segment_make_ring(&ring, g->shared.segment, index, why);
}

static int open_shm_links(struct bring_up *b, struct fault *why)
{
    struct group *g = b->group;
    char name[NAME_MAX];
    bool is_early;
    int rc = 0;

    if (b->local_count == 1)
        return 0;
    is_early = opens_bells_early(g, b->local_count);
    if (b->local_index > 0) {
        segment_name(g, name);
        rc = shm_segment_open(&g->shared.segment, name, b->local_count, b->local_index,
                              g->is_window, why);
    }
    for (int i = 0; i < b->local_count && !rc; i++)
        if (i != b->local_index)
            rc = open_shm_link(b, i, is_early, why);
    if (!rc && b->local_count == g->size) {
        g->shared.slots = shm_segment_slot(g->shared.segment, 0);
        rc = shm_segment_coll(&g->shared.coll, g->shared.segment, g, why);
    }
    return rc;
}

/* Makes the links. A window's targets answer without the program, so its links come up at once. */
static int open_tcp_links(struct bring_up *b, struct fault *why)
{
    struct group *g = b->group;
    int rc = 0;

    for (int i = 0; i < g->size && !rc; i++)
        if (b->uses_net[i])
            rc = tcp_link_open_later(&g->links[i], g, i, g->mesh, why);
    return rc || !(g->is_window || g->world->is_eager) ? rc : tcp_eager_run(g, b->deadline_ms, why);
}

/* True if any member wants to connect all at once, which takes all of them; so all members find the
 * same. */
static bool is_at_once(const struct group *g, const struct exchange *x)
{
    for (int i = 0; i < g->size; i++) {
        struct blob b = exchange_blob(x, i);

        if (b.size == strlen(AT_ONCE) && memcmp(b.bytes, AT_ONCE, b.size) == 0)
            return true;
    }
    return false;
}

/* Makes the links. */
static int open_rdma_links(struct bring_up *b, bool at_once, struct fault *why)
{
    struct group *g = b->group;
    struct rdma_mesh *mesh;
    char who[GROUP_MEMBER_TEXT];
    int rc = 0;

    for (int i = 0; i < g->size && !rc && !at_once; i++)
        if (b->uses_net[i])
            rc = rdma_link_open_later(&g->links[i], g, i, g->meet, why);
    if (!at_once)
        return rc;
    rc = rdma_mesh_open(&mesh, g, b->uses_net, why);
    if (rc)
        return fault_wrap(why, "%s", group_describe(g, g->rank, who));
    rc = rdma_mesh_run(mesh, b->deadline_ms, why);
    rdma_mesh_close(mesh);
    return rc;
}

/* Stores how long pieces of calls should be, for this process; 0: it has no GPU. */
static int piece_read(size_t *size, struct fault *why)
{
    const char *text = getenv("MLAUNCH_GPU_PIECES");
    bool has_gpu = cuda_driver_now() || access("/dev/nvidiactl", F_OK) == 0;
    int64_t wanted = has_gpu ? PIECE : 0;

    if (text && *text &&
        (!number_parse_size(text, strlen(text), PIECE_MOST, &wanted) ||
         (wanted && wanted < PIECE_LEAST)))
        return fault_set(why, ML_ERR_ARGUMENT,
                         "MLAUNCH_GPU_PIECES: '%.40s' is not a size from 64K to 1G, nor 0", text);
    *size = (size_t)wanted;
    return 0;
}

/* What the world's members say of themselves. */
struct member_habits {
    uint8_t algorithms[ALGORITHM_SUM];
    uint64_t gpu_piece; /* piece_read */
};

/* All members find the same one that differs from the first. The longest piece is that of all. */
static int habits_compare(const struct group *g, const struct exchange *x, struct fault *why)
{
    char who[GROUP_MEMBER_TEXT], whom[GROUP_MEMBER_TEXT];
    struct member_habits first, h;

    for (int i = 0; i < g->size; i++) {
        struct blob b = exchange_blob(x, i);

        h = (struct member_habits){{0}, 0};
        memcpy(&h, b.bytes, b.size < sizeof(h) ? b.size : sizeof(h));
        if (i == 0)
            first = h;
        if (h.gpu_piece > g->world->gpu_piece)
            g->world->gpu_piece = h.gpu_piece;
        if (memcmp(h.algorithms, first.algorithms, sizeof(h.algorithms)) != 0)
            return fault_set(why, ML_ERR_ARGUMENT,
                             "MLAUNCH_ALGO or MLAUNCH_DETERMINISTIC of %s differs from that of %s: "
                             "all ranks need the same",
                             group_describe(g, i, who), group_describe(g, 0, whom));
    }
    return 0;
}

/* Waits until all members are connected. The world's members also compare how they choose
 * algorithms and cut calls, which is a process's choice, and so the same in all of its groups. */
static int members_meet(struct bring_up *b, struct fault *why)
{
    struct group *g = b->group;
    struct member_habits mine = {.gpu_piece = g->world->gpu_piece};
    struct exchange *x;
    int rc;

    memcpy(mine.algorithms, algorithm_sum(), ALGORITHM_SUM);
    rc = exchange_run(&x, g, (struct blob){&mine, g->is_world ? sizeof(mine) : 0},
                      b->deadline_ms + MISSING_NAMED_MS, why);
    if (rc)
        return rc;
    rc = g->is_world ? habits_compare(g, x, why) : 0;
    exchange_destroy(x);
    return rc;
}

static int bring_up(struct bring_up *b, struct fault *why)
{
    struct group *g = b->group;
    struct exchange *x = NULL;
    char who[GROUP_MEMBER_TEXT];
    int rc;

    if (g->size == 1)
        return self_link_open(&g->links[0], g, why);
    rc = plan_links(b, why);
    if (!rc)
        rc = prepare_links(b, why);
    if (rc)
        return fault_wrap(why, "%s", group_describe(g, g->rank, who));
    rc = exchange_run(&x, g, (struct blob){b->where, (uint32_t)strlen(b->where)}, b->deadline_ms,
                      why);
    if (rc)
        return rc;
    if (g->mesh)
        tcp_mesh_found(g->mesh, x);
    rc = self_link_open(&g->links[g->rank], g, why);
    if (!rc)
        rc = open_shm_links(b, why);
    if (rc)
        fault_wrap(why, "%s", group_describe(g, g->rank, who));
    else if (g->meet)
        rc = open_rdma_links(b, is_at_once(g, x), why);
    else if (g->mesh)
        rc = open_tcp_links(b, why);
    if (!g->mesh)
        exchange_destroy(x);
    if (!rc)
        rc = members_meet(b, why);
    shm_segment_unlink(g->shared.segment);
    if (!rc && g->shared.segment && g->is_world)
        g->world->is_crowded = shm_segment_is_crowded(g->shared.segment, b->local_index);
    return rc;
}

/* Makes what g needs before it can get news. */
static int group_furnish(struct group *g, struct fault *why)
{
    const struct world *w = g->world;
    char who[GROUP_MEMBER_TEXT];
    int rc = 0;

    if (!w->job.local_net)
        rc = hierarchy_find(&g->hierarchy, g, why);
    if (!rc && w->is_launched)
        rc = bell_make(&g->waiting.bell, w->dir, w->generation, g->id, w->rank, g->size == 1, why);
    return rc ? fault_wrap(why, "%s", group_describe(g, g->rank, who)) : 0;
}

int group_join(struct group **out, struct world *w, uint32_t id, const int *members, int size,
               const char *call, int64_t deadline_ms, struct fault *why)
{
    struct bring_up b = {.where = "", .deadline_ms = deadline_ms};
    size_t piece = 0;
    struct group *g;
    int rc = group_create(&g, w, id, members, size, why);

    if (rc)
        return rc;
    b.group = g;
    group_hold(g, call); /* else another thread's ml_repair would end it, half made */
    g->is_window = strcmp(call, "window_create") == 0;
    /* What waits meanwhile is this call, of all members. */
    g->words.name = call;
    g->call.seq = g->is_world ? w->generation : 1;
    rc = group_furnish(g, why);
    if (!rc && g->is_world && !w->gpu_piece) {
        rc = piece_read(&piece, why);
        w->gpu_piece = piece;
    }
    if (rc) {
        coord_events_break(w->coord_events, g, why);
        group_leave(g);
        return rc;
    }
    coord_events_add(w->coord_events, g);
    rc = bring_up(&b, why);
    g->call.seq = 0;
    free(b.uses_net);
    free(b.locals);
    if (rc) {
        rc = coord_events_break_first(w->coord_events, g, why);
        group_leave(g);
        return rc;
    }
    g->gpu_piece = w->gpu_piece;
    g->runs_apart = g->gpu_piece || (w->calls && w->calls->has_hashes);
    if (!g->is_window)
        group_release(g);
    *out = g;
    return 0;
}

bool group_take(struct group *g, const char *call, const struct fault *ends)
{
    int self = thread_self(), thread;

    while (!group_hold_as(g, -self, call)) {
        thread = atomic_load(&g->users.thread);
        if (thread > 0 && (thread == self || !thread_exists(thread)) &&
            atomic_compare_exchange_strong(&g->users.thread, &thread, -self)) {
            if (!g->broken.code)
                fault_set(&g->broken, ML_ERR_STATE, "a call on the group was left half made");
            break;
        }
        if (ends && group_look_begin(g)) {
            coord_events_end_call(g->world->coord_events, g, ends);
            group_look_end(g);
        }
        poll(NULL, 0, LOOK_MS);
    }
    if (g->world)
        return true;
    group_release(g);
    return false;
}

void group_disconnect(struct group *g)
{
    progress_stop(g);
    message_op_drop(g); /* if longjmp() has left a call, what it queued is gone */
    /* While one link is flushed, members may still send messages through the coordinator, which
     * must not reach a link that is closed. */
    for (int i = 0; i < g->size; i++)
        if (g->links[i]) {
            g->links[i]->ops->close(g->links[i]);
            g->links[i] = NULL;
        }
    tcp_mesh_close(g->mesh);
    g->mesh = NULL;
    rdma_meet_close(g->meet);
    g->meet = NULL;
    matching_close(g);
    peer_memory_close(g->peers);
    g->peers = NULL;
    free(g->shared.coll);
    g->shared.coll = NULL;
    g->shared.slots = NULL;
    shm_segment_close(g->shared.segment);
    g->shared.segment = NULL;
}

static void group_close(struct group *g, bool is_told)
{
    const struct world *w = g->world;
    int bell;

    group_disconnect(g);
    /* Last: a link that is being closed may have to break the group (sleeper_ring). */
    if (is_told && !g->is_world && g->size > 1)
        coord_events_send(w->coord_events, COORD_FREE,
                          json_pack("{s:I}", "group", (json_int_t)g->id), NULL);
    bell = coord_events_remove(w->coord_events, g);
    bell_remove(bell, w->dir, w->generation, g->id, w->rank);
}

void group_leave(struct group *g)
{
    if (!g)
        return;
    group_close(g, true);
    group_destroy(g);
}

void group_retire(struct group *g, const struct fault *why)
{
    g->broken = *why;
    atomic_store_explicit(&g->is_retired, true, memory_order_release);
    group_close(g, false);
    group_destroy(g);
}

/* SPDX-License-Identifier: MIT */
#include "runtime/window/window_device.h"

#include "common/clock.h"
#include "common/failure_times.h"
#include "runtime/call/progress.h"
#include "runtime/call/task_run.h"
#include "runtime/gpu/gpu_part.h"
#include "runtime/gpu/gpu_range.h"
#include "runtime/gpu/gpu_way.h"
#include "runtime/group/exchange.h"
#include "runtime/group/world.h"
#include "runtime/process/fork_guard.h"
#include "runtime/transport/rdma_module.h"
#include "runtime/transport/rdma_topology.h"
#include "runtime/window/window_signal_linux.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    DESCRIPTORS = 64,
    WITH_SIGNAL =
        4096, /* bytes: so few take less time in the signal's request than by themselves */
};
static const int64_t ms_ns = 1000 * 1000;

static atomic_flag has_complained = ATOMIC_FLAG_INIT;

/* --- opening ---------------------------------------------------------------------------------- */

/* True if any two ranks of the group are connected by RDMA; the same on all. */
static bool device_is_used(const struct group *g)
{
    bool has_hosts = g->world->job.local_net;

    for (int i = 1; i < g->size; i++)
        has_hosts |= g->host_of[i] != g->host_of[0];
    return g->size > 1 && has_hosts && strcmp(g->world->job.backend, "rdma") == 0;
}

static bool device_is_needed(const struct window *w, int rank)
{
    const struct group *g = w->group;

    return rank != g->rank && !w->parts[rank].control &&
           (g->host_of[rank] != g->host_of[g->rank] || g->world->job.local_net);
}

static int device_check(void *arg, struct fault *why)
{
    struct window *w = arg;
    int broken = atomic_load(&w->broken);

    if (broken)
        *why = w->why;
    return broken;
}

/* Why the devices of this rank and a peer don't put and get by themselves. A part on a GPU has a
 * sentence of its own for each peer. */
static void device_complain(const struct window *w, int peer, const struct fault *why)
{
    const int *ranks = w->group->members;
    struct fault other;

    if (w->gpu) {
        fault_set(&other, ML_ERR_DEVICE, "the devices of the two can't put and get by themselves");
        gpu_way_tell(ranks[w->group->rank], ranks[peer],
                     why->code ? GPU_WAY_REFUSED : GPU_WAY_PIECES, why->code ? why : &other);
    } else if (why->code && !atomic_flag_test_and_set(&has_complained)) {
        fprintf(stderr, "mlaunch: warning: rank %d: puts and gets are messages instead: %s\n",
                ranks[w->group->rank], why->text);
    }
}

static void device_complain_all(const struct window *w, const struct fault *why)
{
    for (int i = 0; i < w->group->size; i++)
        if (device_is_needed(w, i))
            device_complain(w, i, why);
}

static bool device_add(struct window *w, struct rdma_topology *wiring, int rank, struct fault *why)
{
    const struct group *g = w->group;
    char who[GROUP_MEMBER_TEXT];
    struct rma_peer_config c = {.rank = g->members[rank], .name = group_describe(g, rank, who)};

    return rdma_topology_devices(wiring, g->host_of[g->rank], g->host_of[rank], &c.devices,
                                 &c.device_count, why) == 0 &&
           w->rma_table->add(w->rma, rank, &c, why);
}

/* Makes a queue pair to each rank that needs one. What the devices register a part on a GPU by is
 * needed until then. */
static void device_add_all(struct window *w, struct rdma_topology *wiring)
{
    for (int i = 0; i < w->group->size; i++) {
        struct fault reason = {0};

        if (device_is_needed(w, i) && !device_add(w, wiring, i, &reason))
            device_complain(w, i, &reason);
    }
}

static bool device_export(const struct window *w, struct region_gpu *out, struct fault *why)
{
    struct gpu_range_export by;

    if (!gpu_range_export(&w->gpu->memory, w->gpu->at, w->gpu->size, &by, why))
        return false;
    *out = (struct region_gpu){.dmabuf = by.dmabuf, .offset = by.offset};
    snprintf(out->refusal, sizeof(out->refusal), "%s", by.refusal);
    return true;
}

/* Opens the devices and makes the queue pairs. */
static int device_prepare(struct window *w, void *memory, struct fault *why)
{
    const struct group *g = w->group;
    const struct endpoint_table *table;
    struct region_gpu gpu = {.dmabuf = -1};
    struct rma_config c = {.peers = g->size,
                           .rank = g->members[g->rank],
                           .memory = memory,
                           .size = w->parts[g->rank].size,
                           .check = device_check,
                           .arg = w};
    struct rdma_topology *wiring = NULL;
    int rc = rdma_module_open(&table, why);

    if (!rc)
        rc = rdma_topology_read(&wiring, g->world->dir, why);
    if (rc)
        return rc;
    w->rma_table = &table->rma;
    c.choice = rdma_topology_choice(wiring);
    c.gpu = w->gpu ? &gpu : NULL;
    if (w->gpu && !device_export(w, &gpu, why))
        rc = why->code;
    if (!rc)
        rc = w->rma_table->open(&w->rma, &c, why);
    if (!rc)
        device_add_all(w, wiring);
    if (gpu.dmabuf >= 0)
        close(gpu.dmabuf);
    rdma_topology_destroy(wiring);
    return rc;
}

/* Gives the others what they need to connect, and connects to them. */
static int device_connect(struct window *w, struct fault *why)
{
    struct group *g = w->group;
    struct blob *mine = calloc((size_t)g->size, sizeof(*mine));
    struct exchange *x = NULL;
    int rc;

    if (!mine)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    for (int i = 0; i < g->size && w->rma; i++) {
        size_t size;

        mine[i].bytes = w->rma_table->publish(w->rma, i, &size);
        mine[i].size = (uint32_t)size;
    }
    rc = exchange_run_each(&x, g, mine, -1, why);
    free(mine);
    for (int i = 0; i < g->size && !rc && w->rma; i++) {
        struct blob theirs = exchange_blob(x, i);
        struct fault reason = {0};

        if (w->rma_table->connect(w->rma, i, theirs.bytes, theirs.size, &reason))
            device_complain(w, i, &reason);
    }
    exchange_destroy(x);
    return rc;
}

enum { CAN_REACH = 1, CAN_OWN = 2 };

/* Two ranks use their devices only if both can. A packet to a queue pair that is not connected
 * would be lost, but when this returns, all are. The numbers are the devices' only if those of all
 * ranks can carry out all operations on their parts. */
static int device_agree(struct window *w, struct fault *why)
{
    struct group *g = w->group;
    size_t ranks = (size_t)g->size;
    unsigned char *can = calloc(ranks, 1), *could = calloc(ranks, 1);
    bool owns = !w->gpu && w->rma && w->rma_table->own(w->rma, g->rank), all_own = true;
    struct task t = {.kind = CALL_ALL_TO_ALL,
                     .name = "window_create",
                     .in = can,
                     .out = could,
                     .count = 1,
                     .root = -1};
    int rc;

    rc = can && could ? 0 : fault_set(why, ML_ERR_MEMORY, "out of memory");
    for (int i = 0; i < g->size && !rc; i++)
        can[i] = (i != g->rank && w->rma && w->rma_table->has(w->rma, i) ? CAN_REACH : 0) |
                 (owns ? CAN_OWN : 0);
    if (!rc)
        rc = task_run(g, &t, why);
    for (int i = 0; i < g->size && !rc; i++) {
        w->has_device[i] = can[i] & could[i] & CAN_REACH;
        if ((can[i] & CAN_REACH) && !w->has_device[i]) {
            device_complain(w, i, &(struct fault){0});
            w->rma_table->remove(w->rma, i);
        }
        all_own = all_own && (could[i] & CAN_OWN);
    }
    w->has_device_numbers = !rc && all_own;
    if (!rc && owns && !all_own)
        w->rma_table->remove(w->rma, g->rank);
    free(can);
    free(could);
    return rc;
}

/* How devices reach this rank's part, if it is on a GPU. */
static void device_tell(const struct window *w)
{
    const int *ranks = w->group->members;

    for (int i = 0; i < w->group->size && w->gpu; i++)
        if (w->has_device[i])
            gpu_way_tell(ranks[w->group->rank], ranks[i],
                         w->rma_table->part_way(w->rma, i) == REGION_DMABUF ? GPU_WAY_DMABUF
                                                                            : GPU_WAY_PEERMEM,
                         NULL);
}

static void device_guard(const struct window *w, void (*each)(int fd))
{
    int fds[DESCRIPTORS], count = w->rma_table->descriptors(w->rma, fds, DESCRIPTORS);

    for (int i = 0; i < count; i++)
        each(fds[i]);
}

int window_device_open(struct window *w, void *memory, struct fault *why)
{
    struct fault reason = {0};
    int rc;

    if (!device_is_used(w->group))
        return 0;
    w->has_device = calloc((size_t)w->group->size, sizeof(*w->has_device));
    if (!w->has_device)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    if (device_prepare(w, memory, &reason))
        device_complain_all(w, &reason);
    if (w->rma)
        device_guard(w, fork_guard_add);
    rc = device_connect(w, why);
    if (!rc)
        rc = device_agree(w, why);
    if (!rc)
        device_tell(w);
    return rc;
}

void window_device_close(struct window *w)
{
    if (w->rma) {
        device_guard(w, fork_guard_forget);
        w->rma_table->close(w->rma);
    }
    free(w->has_device);
    w->rma = NULL;
    w->has_device = NULL;
}

/* --- puts and gets ---------------------------------------------------------------------------- */

static bool device_is_broken(void *arg)
{
    struct window *w = arg;

    return atomic_load(&w->broken);
}

/* A target that does not answer has most likely died, which the coordinator knows better. */
static int device_fail(struct window *w, struct fault *why)
{
    struct window_control *own = w->parts[w->group->rank].control;

    if (why->code == ML_ERR_LINK)
        window_signal_sleep(own, device_is_broken, w, clock_ns() + PEER_WORD_MS * ms_ns);
    window_break(w, why);
    return window_check(w, why);
}

static void device_tell_dropped(struct window *w)
{
    struct fault dropped;
    int left;

    while (w->rma_table->dropped(w->rma, &dropped, &left))
        fprintf(stderr, "mlaunch: warning: rank %d: %s; going on over the other %d of its rails\n",
                w->group->members[w->group->rank], dropped.text, left);
}

static int device_end(struct window *w, int rc, struct fault *why)
{
    device_tell_dropped(w);
    return rc ? device_fail(w, why) : 0;
}

/* A put that begins. */
static void device_note(struct window *w, int to)
{
    if (__builtin_expect(w->parts[to].must_settle, 0))
        atomic_fetch_add(&w->parts[to].begun, 1);
}

int window_device_put(struct window *w, const void *from, size_t size, int to, size_t offset,
                      struct fault *why)
{
    device_note(w, to);
    return device_end(w, w->rma_table->put(w->rma, to, from, size, offset, why), why);
}

int window_device_get(struct window *w, void *into, size_t size, int from, size_t offset,
                      struct fault *why)
{
    return device_end(w, w->rma_table->get(w->rma, from, into, size, offset, why), why);
}

bool window_device_reaches(const struct window *w, int rank, const void *at, size_t size,
                           bool *by_dmabuf, struct fault *why)
{
    enum region_way way = REGION_HOST;
    bool reaches = w->rma_table->reaches(w->rma, rank, at, size, &way, why);

    *by_dmabuf = way == REGION_DMABUF;
    return reaches;
}

/* --- those that are started ------------------------------------------------------------------- */

/* What an ml_request points to. */
struct device_request {
    struct request base;
    struct window *window;
    struct rma_op op;
};

static void device_on_done(struct rma_op *op, const struct fault *why)
{
    struct device_request *r =
        (struct device_request *)((char *)op - offsetof(struct device_request, op));

    if (why) {
        r->base.result = *why;
        device_fail(r->window, &r->base.result);
    }
    atomic_store(&r->base.is_done, true);
}

static void device_await(struct request *base)
{
    struct window *w = ((struct device_request *)base)->window;

    w->rma_table->await(w->rma, &base->is_done);
    device_tell_dropped(w);
}

static void device_progress(struct request *base)
{
    const struct window *w = ((struct device_request *)base)->window;

    w->rma_table->progress(w->rma);
}

static int device_start(struct window *w, const struct rma_op *op, struct request **out,
                        struct fault *why)
{
    struct device_request *r = calloc(1, sizeof(*r));
    int rc;

    if (!r)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    r->base.await = device_await;
    r->base.progress = device_progress;
    r->window = w;
    r->op = *op;
    r->op.on_done = device_on_done;
    rc = w->rma_table->start(w->rma, &r->op, why);
    if (!rc) {
        *out = &r->base;
        return 0;
    }
    free(r);
    return device_end(w, rc < 0 ? rc : 0, why);
}

int window_device_start_put(struct window *w, const void *from, size_t size, int to, size_t offset,
                            struct request **out, struct fault *why)
{
    struct rma_op op = {
        .peer = to, .local = (unsigned char *)(uintptr_t)from, .size = size, .offset = offset};

    device_note(w, to);
    return device_start(w, &op, out, why);
}

int window_device_start_get(struct window *w, void *into, size_t size, int from, size_t offset,
                            struct request **out, struct fault *why)
{
    struct rma_op op = {
        .is_get = true, .peer = from, .local = into, .size = size, .offset = offset};

    return device_start(w, &op, out, why);
}

/* --- numbers ---------------------------------------------------------------------------------- */

int window_device_change(struct window *w, int at, const struct rma_change *change, size_t offset,
                         uint64_t *old, struct fault *why)
{
    return device_end(w, w->rma_table->change(w->rma, at, change, offset, old, why), why);
}

int window_device_add_own(struct window *w, size_t offset, uint64_t add, struct fault *why)
{
    const struct rma_change change = {.kind = RMA_ADD, .value = add};
    uint64_t old;

    return w->rma_table->change(w->rma, w->group->rank, &change, offset, &old, why);
}

/* --- flush ------------------------------------------------------------------------------------ */

static void count_raise(_Atomic uint64_t *count, uint64_t to)
{
    uint64_t now = atomic_load(count);

    while (now < to && !atomic_compare_exchange_weak(count, &now, to))
        ;
}

/* Other threads may begin puts meanwhile. */
static int device_flush(struct window *w, int to, struct fault *why)
{
    struct window_part *p = &w->parts[to];
    uint64_t begun = atomic_load(&p->begun);
    int rc = device_end(w, w->rma_table->flush(w->rma, to, why), why);

    if (!rc)
        count_raise(&p->written, begun);
    return rc;
}

int window_device_flush(struct window *w, int to, struct fault *why)
{
    int rc = 0;

    for (int i = 0; i < w->group->size && !rc; i++)
        if ((to == ML_ALL || to == i) && window_device_has(w, i))
            rc = device_flush(w, i, why);
    return rc;
}

void window_device_note_settled(struct window *w, int rank, uint64_t written)
{
    count_raise(&w->parts[rank].settled, written);
}

int window_device_settle(struct window *w, const void *from, size_t *size, int to, size_t offset,
                         struct fault *why)
{
    int rc = 0;

    if (*size > WITH_SIGNAL) {
        rc = window_device_put(w, from, *size, to, offset, why);
        *size = 0;
    }
    return rc ? rc : window_device_flush(w, to, why);
}

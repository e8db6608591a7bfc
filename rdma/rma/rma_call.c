/* SPDX-License-Identifier: MIT */
#include "rdma/rma/rma.h"
#include "rdma/rma/rma_helper.h"
#include "rdma/rma/rma_state.h"
#include "rdma/rma/rma_wait.h"

#include <stdatomic.h>

static int rma_refuse(const struct rma_peer *p, struct fault *why)
{
    return fault_set(why, p->qps.failed.code, "%s", p->qps.failed.text);
}

static int rma_do(struct rma *r, int peer, struct rma_op *op, struct fault *why)
{
    struct rma_peer *p = &r->peers[peer];
    struct rma_qps *q = &p->qps;
    int64_t since_ns = 0;
    int rc = 0;

    rma_enter(r);
    rma_qps_begin(q, op);
    for (;;) {
        int moved = rma_qps_post(q, op, &r->bounce);

        if (rma_qps_are_done(q, op))
            break;
        moved += rma_move(r);
        if (moved)
            since_ns = 0;
        else
            rma_wait(r, &since_ns);
    }
    if (!rma_op_has_succeeded(op))
        rc = rma_refuse(p, why);
    rma_leave(r);
    return rc;
}

int rma_put(struct rma *r, int peer, const void *from, size_t size, uint64_t offset,
            struct fault *why)
{
    struct rma_op op = {.local = (unsigned char *)(uintptr_t)from, .size = size, .offset = offset};

    return rma_do(r, peer, &op, why);
}

int rma_get(struct rma *r, int peer, void *into, size_t size, uint64_t offset, struct fault *why)
{
    struct rma_op op = {.is_get = true, .local = into, .size = size, .offset = offset};

    return rma_do(r, peer, &op, why);
}

bool rma_reaches(struct rma *r, int peer, const void *local, size_t size, enum region_way *way,
                 struct fault *why)
{
    bool reaches;

    why->code = 0;
    pthread_mutex_lock(&r->lock);
    reaches = rma_qps_are_direct(&r->peers[peer].qps, local, size, way, why);
    pthread_mutex_unlock(&r->lock);
    return reaches;
}

int rma_change(struct rma *r, int peer, const struct rma_change *change, uint64_t offset,
               uint64_t *old, struct fault *why)
{
    struct rma_op op = {.is_get = true,
                        .change = *change,
                        .local = (unsigned char *)old,
                        .size = sizeof(*old),
                        .offset = offset};

    return rma_do(r, peer, &op, why);
}

int rma_flush(struct rma *r, int peer, struct fault *why)
{
    struct rma_peer *p = &r->peers[peer];
    int64_t since_ns = 0;
    int rc = 0;

    rma_enter(r);
    while (!rma_qps_are_idle(&p->qps)) {
        if (rma_move(r) > 0)
            since_ns = 0;
        else
            rma_wait(r, &since_ns);
    }
    if (p->qps.failed.code)
        rc = rma_refuse(p, why);
    rma_leave(r);
    return rc;
}

int rma_start(struct rma *r, struct rma_op *op, struct fault *why)
{
    struct rma_peer *p = &r->peers[op->peer];
    int rc = 0;

    rma_enter(r);
    if (!rma_helper_begin(r)) {
        rma_leave(r);
        rc = op->is_get ? rma_get(r, op->peer, op->local, op->size, op->offset, why)
                        : rma_put(r, op->peer, op->local, op->size, op->offset, why);
        return rc ? rc : 1;
    }
    if (rma_qps_start(&p->qps, op, &r->bounce)) {
        rc = rma_op_has_succeeded(op) ? 1 : rma_refuse(p, why);
    } else {
        r->started++;
        if (r->is_watched)
            rma_arm(r); /* for a thread that sleeps already */
        if (r->is_watched || op->is_queued)
            rma_move(r);
    }
    rma_leave(r);
    return rc;
}

void rma_await(struct rma *r, const _Atomic bool *done)
{
    int64_t since_ns = 0;

    rma_enter(r);
    while (!atomic_load(done)) {
        if (rma_move(r) > 0)
            since_ns = 0;
        else if (!atomic_load(done))
            rma_wait(r, &since_ns);
    }
    rma_leave(r);
}

void rma_progress(struct rma *r)
{
    if (pthread_mutex_trylock(&r->lock))
        return;
    rma_move(r);
    pthread_mutex_unlock(&r->lock);
}

bool rma_dropped(struct rma *r, struct fault *out, int *left)
{
    const struct fault *dropped = NULL;

    pthread_mutex_lock(&r->lock);
    for (int i = 0; i < r->config.peers && !dropped; i++)
        dropped = rma_qps_dropped(&r->peers[i].qps, left);
    if (dropped)
        *out = *dropped;
    pthread_mutex_unlock(&r->lock);
    return dropped != NULL;
}

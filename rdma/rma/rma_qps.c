/* SPDX-License-Identifier: MIT */
#include "rdma/rma/rma_qps.h"

#include "common/clock.h"
#include "rdma/verbs/region.h"

#include <string.h>

enum {
    BATCH = 16,
    COPIED_MOST = 4096, /* bytes: copying so few takes less time than waiting for the device */
    RETRY_MS = 10,
};

void rma_qps_init(struct rma_qps *q)
{
    q->queue_end = &q->queue;
}

void rma_qps_close(struct rma_qps *q)
{
    for (int i = 0; i < q->count; i++)
        rma_qp_close(q->all[i]);
    q->count = 0;
}

static int rma_qps_live(const struct rma_qps *q)
{
    int live = 0;

    for (int i = 0; i < q->count; i++)
        live += !q->all[i]->failed.code;
    return live;
}

/* --- posting ---------------------------------------------------------------------------------- */

/* The queue pair for the next slice, among those that work and are the nearest to the ranks' GPUs;
 * or NULL. */
static struct rma_qp *rma_qps_route(const struct rma_qps *q, bool is_get)
{
    struct rma_qp *best = NULL;
    int near = 0;

    for (int i = 0; i < q->count; i++)
        if (!q->all[i]->failed.code && q->all[i]->fit.near > near)
            near = q->all[i]->fit.near;
    for (int i = 0; i < q->count; i++)
        if (q->all[i]->fit.near == near && rma_qp_has_room(q->all[i], is_get) &&
            (!best || q->all[i]->bytes < best->bytes))
            best = q->all[i];
    return best;
}

/* True if all devices can reach the caller's memory. */
static bool is_registered(const struct rma_qps *q, const void *local, size_t size,
                          enum region_way *way, struct fault *why)
{
    *way = REGION_HOST;
    for (int i = 0; i < q->count; i++) {
        const struct rma_port *p = q->all[i]->port;
        struct explain_place at = {.device = p->port->device, .port = p->port->number};
        struct region_keys keys;

        if (q->all[i]->failed.code)
            continue;
        if (!region_find(p->domain, local, size, false, &keys, &at, why))
            return false;
        if (keys.way > *way)
            *way = keys.way;
    }
    return true;
}

bool rma_qps_are_direct(const struct rma_qps *q, const void *local, size_t size,
                        enum region_way *way, struct fault *why)
{
    return size > COPIED_MOST && is_registered(q, local, size, way, why);
}

/* The largest message that all ports take. */
static uint32_t rma_qps_message_most(const struct rma_qps *q)
{
    uint32_t most = RMA_SLICE_MOST;

    for (int i = 0; i < q->count; i++) {
        uint32_t port = q->all[i]->port->port->attr.max_msg_sz;

        if (port && port < most)
            most = port;
    }
    return most;
}

void rma_qps_begin(struct rma_qps *q, struct rma_op *op)
{
    uint32_t most = rma_qps_message_most(q);
    int live = rma_qps_live(q);
    struct fault why = {0};
    enum region_way way;
    size_t slice;

    op->posted = 0;
    op->under_way = 0;
    op->code = 0;
    op->is_queued = false;
    op->is_direct = rma_qps_are_direct(q, op->local, op->size, &way, &why);
    /* Two slices a queue pair, so that those of different speeds end at about the same time. */
    slice = op->size / (2 * (size_t)(live ? live : 1));
    slice = (slice + RMA_SLICE_LEAST - 1) / RMA_SLICE_LEAST * RMA_SLICE_LEAST;
    if (slice < RMA_SLICE_LEAST)
        slice = RMA_SLICE_LEAST;
    if (!op->is_direct)
        slice = BOUNCE_POOL_SLOT;
    op->slice = slice < most ? (uint32_t)slice : most;
}

/* Makes the next slice of op. False: no slot for a copy is free. */
static bool slice_make(struct slice *s, struct rma_op *op, struct bounce_pool *b)
{
    size_t rest = op->size - op->posted;

    *s = (struct slice){.op = op,
                        .local = op->local + op->posted,
                        .offset = op->offset + op->posted,
                        .size = rest < op->slice ? (uint32_t)rest : op->slice,
                        .is_get = op->is_get,
                        .bounce = -1};
    if (op->is_direct)
        return true;
    s->bounce = bounce_pool_take(b);
    if (s->bounce < 0)
        return false;
    if (!op->is_get) {
        s->op = NULL;
        memcpy(bounce_pool_at(b, s->bounce), s->local, s->size);
    }
    s->local = bounce_pool_at(b, s->bounce);
    return true;
}

int rma_qps_post(struct rma_qps *q, struct rma_op *op, struct bounce_pool *b)
{
    int posted = 0;

    while (op->posted < op->size && !q->failed.code) {
        struct rma_qp *to = rma_qps_route(q, op->is_get);
        struct slice s;

        if (!to || !slice_make(&s, op, b))
            break;
        op->under_way += s.op != NULL;
        op->posted += s.size;
        rma_qp_post(to, &s);
        posted++;
    }
    return posted;
}

bool rma_qps_are_done(const struct rma_qps *q, const struct rma_op *op)
{
    return op->under_way == 0 && (op->posted == op->size || op->code || q->failed.code);
}

bool rma_op_has_succeeded(const struct rma_op *op)
{
    return !op->code && op->posted == op->size;
}

/* --- work that was started -------------------------------------------------------------------- */

/* Called whenever op may have become done. */
static void rma_qps_note_end(struct rma_qps *q, struct rma_op *op)
{
    if (!op->on_done || op->is_queued || !rma_qps_are_done(q, op))
        return;
    op->next = q->ended;
    q->ended = op;
}

bool rma_qps_start(struct rma_qps *q, struct rma_op *op, struct bounce_pool *b)
{
    rma_qps_begin(q, op);
    if (!q->queue)
        rma_qps_post(q, op, b);
    if (rma_qps_are_done(q, op))
        return true;
    op->is_queued = op->posted < op->size;
    if (op->is_queued) {
        op->next = NULL;
        *q->queue_end = op;
        q->queue_end = &op->next;
    }
    return false;
}

int rma_qps_post_queue(struct rma_qps *q, struct bounce_pool *b)
{
    int posted = 0;

    while (q->queue) {
        struct rma_op *op = q->queue;

        posted += rma_qps_post(q, op, b);
        if (op->posted < op->size && !q->failed.code)
            break;
        q->queue = op->next;
        if (!q->queue)
            q->queue_end = &q->queue;
        op->is_queued = false;
        rma_qps_note_end(q, op);
    }
    return posted;
}

struct rma_op *rma_qps_take_ended(struct rma_qps *q)
{
    struct rma_op *op = q->ended;

    if (op)
        q->ended = op->next;
    return op;
}

/* --- completions and failures ----------------------------------------------------------------- */

static void slice_end(struct rma_qps *q, const struct slice *s, struct bounce_pool *b, int code)
{
    struct rma_op *op = s->op;

    if (s->bounce >= 0) {
        if (s->is_get && !code)
            memcpy(op->local + (s->offset - op->offset), s->local, s->size);
        bounce_pool_give(b, s->bounce);
    }
    if (!op)
        return;
    op->under_way--;
    if (code)
        op->code = code;
    rma_qps_note_end(q, op);
}

/* What a failed queue pair has not done: again over the others, or ended if there are none. */
static int rma_qp_empty(struct rma_qps *q, struct rma_qp *from, struct bounce_pool *b)
{
    struct slice s;
    int moved = 0;

    if (!from->failed.code || from->under_way)
        return 0;
    while (q->failed.code && rma_qp_take(from, true, &s)) {
        slice_end(q, &s, b, q->failed.code);
        moved++;
    }
    while (rma_qps_route(q, true) && rma_qp_take(from, false, &s)) {
        rma_qp_post(rma_qps_route(q, s.is_get), &s);
        moved++;
    }
    return moved;
}

static int rma_qp_collect(struct rma_qps *q, struct rma_qp *from, struct bounce_pool *b)
{
    struct slice done[BATCH];
    int count = 0, moved = 0;

    do {
        count = rma_qp_poll(from, done, BATCH);
        for (int i = 0; i < count; i++)
            slice_end(q, &done[i], b, 0);
        moved += count;
    } while (count == BATCH);
    return moved;
}

int rma_qps_poll(struct rma_qps *q, struct bounce_pool *b)
{
    int moved = 0;
    bool any_failed = false;

    for (int i = 0; i < q->count; i++) {
        struct rma_qp *one = q->all[i];

        if (one->under_way)
            moved += rma_qp_collect(q, one, b);
        if (one->port->failed.code)
            rma_qp_fail(one, &one->port->failed);
        if (one->failed.code) {
            any_failed = true;
            rma_qp_give_up(one);
        }
    }
    if (!any_failed)
        return moved;
    for (int i = 0; i < q->count && !q->failed.code && rma_qps_live(q) == 0; i++)
        q->failed = q->all[i]->failed;
    for (int i = 0; i < q->count; i++)
        moved += rma_qp_empty(q, q->all[i], b);
    return moved;
}

bool rma_qps_are_idle(const struct rma_qps *q)
{
    for (int i = 0; i < q->count; i++)
        if (q->all[i]->used)
            return false;
    return !q->queue;
}

int64_t rma_qps_next_ms(const struct rma_qps *q)
{
    int64_t next = INT64_MAX;

    for (int i = 0; i < q->count; i++) {
        const struct rma_qp *one = q->all[i];
        int64_t at = one->under_way ? one->give_up_ms : one->quiet_ms;

        /* What is due and has not gone waits for room on another queue pair. */
        if (one->failed.code && one->used && at < next)
            next = at > clock_ms() ? at : clock_ms() + RETRY_MS;
    }
    return next;
}

void rma_qps_fail(struct rma_qps *q, const struct fault *why)
{
    for (int i = 0; i < q->count; i++)
        rma_qp_fail(q->all[i], why);
    if (!q->failed.code)
        q->failed = *why;
}

const struct fault *rma_qps_dropped(struct rma_qps *q, int *left)
{
    for (int i = 0; i < q->count && !q->failed.code; i++) {
        if (!q->all[i]->failed.code || q->is_reported[i])
            continue;
        q->is_reported[i] = true;
        *left = rma_qps_live(q);
        return &q->all[i]->failed;
    }
    return NULL;
}

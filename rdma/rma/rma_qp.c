/* SPDX-License-Identifier: MIT */
#include "rdma/rma/rma_qp.h"

#include "common/clock.h"
#include "common/failure_times.h"
#include "rdma/rma/rma_op.h"
#include "rdma/verbs/region.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    BATCH = 16,
    STOP_MS = 2000, /* for the device to return what is under way */
};

static struct explain_place rma_qp_place(const struct rma_qp *q)
{
    return rail_fit_place(&q->fit);
}

/* --- bring-up --------------------------------------------------------------------------------- */

int rma_qp_open(struct rma_qp **out, struct rma_port *p, const struct rdma_choice *choice,
                const char *peer, struct fault *why)
{
    struct rma_qp *q = calloc(1, sizeof(*q));
    struct explain_place at;
    int rc = 0;

    if (!q)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    q->port = p;
    q->fit = (struct rail_fit){.port = p->port,
                               .mtu = p->mtu,
                               .gid_index = choice->gid_index,
                               .peer = peer,
                               .near = rail_fit_near(p->port, choice->near)};
    at = rma_qp_place(q);
    q->completions = ibv_create_cq(p->port->context, RMA_QP_DEPTH + 1, q, p->channel, 0);
    if (!q->completions)
        rc = explain(why, EXPLAIN_QUEUE, errno, &at);
    if (!rc)
        rc = queue_pair_create(&q->pair, (enum queue_pair_kind)choice->qp, p->port, p->domain,
                               q->completions, q->completions, &at, why);
    if (rc) {
        rma_qp_close(q);
        return rc;
    }
    q->pair.reads_in = p->reads_in;
    q->pair.reads_out = p->reads_out;
    q->pair.takes_atomics = p->has_atomics;
    *out = q;
    return 0;
}

void rma_qp_close(struct rma_qp *q)
{
    if (!q)
        return;
    queue_pair_destroy(&q->pair);
    if (q->completions) {
        ibv_ack_cq_events(q->completions, q->events);
        ibv_destroy_cq(q->completions);
    }
    free(q);
}

void rma_qp_publish(const struct rma_qp *q, struct rail_end *out)
{
    rail_fit_publish(&q->fit, &q->pair, q->port->part, out);
}

int rma_qp_connect(struct rma_qp *q, const struct rail_end *other, bool is_low, struct fault *why)
{
    int rc = rail_fit_connect(&q->fit, &q->pair, other, is_low, why);

    q->is_connected = !rc;
    return rc;
}

/* --- work ------------------------------------------------------------------------------------- */

bool rma_qp_has_room(const struct rma_qp *q, bool is_get)
{
    return q->is_connected && !q->failed.code && q->used != UINT64_MAX &&
           (!is_get || q->gets < q->pair.reads_out);
}

static void rma_qp_fail_post(struct rma_qp *q, int err)
{
    struct explain_place at = rma_qp_place(q);
    struct fault why = {0};

    explain(&why, EXPLAIN_POST, err, &at);
    rma_qp_fail(q, &why);
}

/* What the device shall do at the peer. */
static void rma_qp_describe(const struct rma_qp *q, const struct slice *s, struct ibv_send_wr *out)
{
    if (s->is_get && s->op->change.kind) {
        const struct rma_change *c = &s->op->change;
        bool adds = c->kind == RMA_ADD;

        out->opcode = adds ? IBV_WR_ATOMIC_FETCH_AND_ADD : IBV_WR_ATOMIC_CMP_AND_SWP;
        out->wr.atomic.remote_addr = q->fit.address + s->offset;
        out->wr.atomic.rkey = q->fit.key;
        out->wr.atomic.compare_add = adds ? c->value : c->expected;
        out->wr.atomic.swap = c->value;
        return;
    }
    out->opcode = s->is_get ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE;
    out->wr.rdma.remote_addr = q->fit.address + s->offset;
    out->wr.rdma.rkey = q->fit.key;
}

void rma_qp_post(struct rma_qp *q, const struct slice *s)
{
    _Static_assert(RMA_QP_DEPTH == 64, "one bit of `used` for each");
    int slot = __builtin_ctzll(~q->used);
    struct ibv_sge piece = {.addr = (uintptr_t)s->local, .length = s->size};
    struct ibv_send_wr *bad, wr = {.wr_id = (uint64_t)slot, .sg_list = &piece, .num_sge = 1};
    struct explain_place at = rma_qp_place(q);
    struct region_keys keys = {.local = q->port->bounce->lkey};
    struct fault why = {0};
    int err;

    q->slices[slot] = *s;
    q->used |= 1ULL << slot;
    if (s->bounce < 0 &&
        !region_find(q->port->domain, s->local, s->size, false, &keys, &at, &why)) {
        rma_qp_fail_post(q, ENOMEM);
        return;
    }
    piece.lkey = keys.local;
    rma_qp_describe(q, s, &wr);
    /* The processor reads what goes inline, and may not read a GPU's memory. */
    if (!s->is_get && s->bounce >= 0 && s->size <= q->pair.max_inline)
        wr.send_flags = IBV_SEND_INLINE;
    err = ibv_post_send(q->pair.qp, &wr, &bad);
    if (err) {
        rma_qp_fail_post(q, err);
        return;
    }
    q->under_way++;
    q->gets += s->is_get;
    q->bytes += s->size;
}

/* --- completions ------------------------------------------------------------------------------ */

void rma_qp_fail(struct rma_qp *q, const struct fault *why)
{
    if (q->failed.code)
        return;
    q->failed = *why;
    q->quiet_ms = clock_ms() + RC_QUIET_MS;
    q->give_up_ms = clock_ms() + STOP_MS;
    queue_pair_stop(&q->pair);
}

static void rma_qp_fail_completion(struct rma_qp *q, const struct ibv_wc *done)
{
    struct explain_place at = rma_qp_place(q);
    struct fault why = {0};

    if (q->failed.code)
        return;
    explain_completion(&why, (int)done->status, ibv_wc_status_str(done->status), &at);
    rma_qp_fail(q, &why);
}

int rma_qp_poll(struct rma_qp *q, struct slice *done, int most)
{
    struct ibv_wc all[BATCH];
    int good = 0, count = ibv_poll_cq(q->completions, most < BATCH ? most : BATCH, all);

    for (int i = 0; i < count; i++) {
        int slot = (int)(all[i].wr_id % RMA_QP_DEPTH);
        const struct slice *s = &q->slices[slot];

        q->under_way--;
        q->gets -= s->is_get;
        q->bytes -= s->size;
        if (all[i].status != IBV_WC_SUCCESS) {
            rma_qp_fail_completion(q, &all[i]);
            continue;
        }
        q->used &= ~(1ULL << slot);
        done[good++] = *s;
    }
    return good;
}

bool rma_qp_take(struct rma_qp *q, bool lost, struct slice *out)
{
    bool is_quiet = lost || clock_ms() >= q->quiet_ms;

    for (uint64_t left = q->used; left; left &= left - 1) {
        int slot = __builtin_ctzll(left);

        if (!is_quiet && !q->slices[slot].is_get)
            continue;
        *out = q->slices[slot];
        q->used &= ~(1ULL << slot);
        return true;
    }
    return false;
}

void rma_qp_give_up(struct rma_qp *q)
{
    if (!q->under_way || clock_ms() < q->give_up_ms)
        return;
    /* Without a queue pair the device cannot touch memory for it either. */
    queue_pair_destroy(&q->pair);
    q->under_way = q->gets = 0;
    q->bytes = 0;
}

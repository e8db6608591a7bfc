/* SPDX-License-Identifier: MIT */
#include "rdma/rma/track.h"

#include "common/clock.h"
#include "rdma/rma/work.h"
#include "rdma/verbs/rail_fit.h"
#include "rdma/verbs/region.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    BATCH = 16,
    STOP_MS = 2000, /* for the device to return what is under way */
    /* A packet may be on its way for as long as the queue pair waits for its answer (queue_pair.c),
     * and no longer. */
    QUIET_MS = 2200,
};

static struct explain_place track_place(const struct track *l)
{
    return (struct explain_place){.device = l->gate->port->device,
                                  .port = l->gate->port->number,
                                  .gid = gid_is_zero(&l->gid) ? NULL : &l->gid,
                                  .peer_gid = gid_is_zero(&l->peer_gid) ? NULL : &l->peer_gid,
                                  .peer = l->peer};
}

/* --- bring-up --------------------------------------------------------------------------------- */

int track_open(struct track **out, struct gate *g, enum queue_pair_kind kind, const char *peer,
               struct fault *why)
{
    struct track *l = calloc(1, sizeof(*l));
    struct explain_place at;
    int rc = 0;

    if (!l)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    l->gate = g;
    l->peer = peer;
    at = track_place(l);
    l->completions = ibv_create_cq(g->port->context, TRACK_DEPTH + 1, l, g->channel, 0);
    if (!l->completions)
        rc = explain(why, EXPLAIN_QUEUE, errno, &at);
    if (!rc)
        rc = queue_pair_create(&l->pair, kind, g->port, g->domain, l->completions, l->completions,
                               &at, why);
    if (rc) {
        track_close(l);
        return rc;
    }
    l->pair.reads_in = g->reads_in;
    l->pair.reads_out = g->reads_out;
    l->pair.takes_atomics = g->has_atomics;
    *out = l;
    return 0;
}

void track_close(struct track *l)
{
    if (!l)
        return;
    queue_pair_destroy(&l->pair);
    if (l->completions) {
        ibv_ack_cq_events(l->completions, l->events);
        ibv_destroy_cq(l->completions);
    }
    free(l);
}

void track_publish(const struct track *l, int gid_index, struct rail_end *out)
{
    const struct gate *g = l->gate;

    memset(out, 0, sizeof(*out));
    out->pair = (struct queue_pair_end){.number = l->pair.qp->qp_num,
                                        .psn = l->pair.psn,
                                        .lid = g->port->attr.lid,
                                        .mtu = g->mtu,
                                        .kind = (uint8_t)l->pair.kind,
                                        .reads = g->reads_in};
    out->address = g->part ? (uintptr_t)g->part->addr : 0;
    out->key = g->part ? g->part->rkey : 0;
    out->gid_index = gid_index;
    out->link_layer = g->port->attr.link_layer;
    out->gid_count = g->port->gid_count;
    memcpy(out->gids, g->port->gids, sizeof(out->gids));
    memcpy(out->device, g->port->device, sizeof(out->device));
    out->port = g->port->number;
}

int track_connect(struct track *l, const struct rail_end *other, int gid_index, bool is_low,
                  struct fault *why)
{
    struct queue_pair_end end = other->pair;
    struct rail_fit mine = {.port = l->gate->port,
                            .kind = l->pair.kind,
                            .gid_index = gid_index,
                            .peer = l->peer,
                            .is_low = is_low};
    struct explain_place at;
    int rc = rail_fit(&mine, other, &l->gid, &l->peer_gid, why);

    if (rc)
        return rc;
    end.gid = l->peer_gid;
    if (l->gate->mtu < end.mtu)
        end.mtu = l->gate->mtu;
    if (end.reads < l->pair.reads_out)
        l->pair.reads_out = end.reads ? end.reads : 1;
    at = track_place(l);
    rc = queue_pair_connect(&l->pair, l->gate->port, &l->gid, &end, &at, why);
    if (rc)
        return rc;
    l->address = other->address;
    l->key = other->key;
    l->is_connected = true;
    return 0;
}

/* --- work ------------------------------------------------------------------------------------- */

bool track_has_room(const struct track *l, bool is_get)
{
    return l->is_connected && !l->failed.code && l->used != UINT64_MAX &&
           (!is_get || l->gets < l->pair.reads_out);
}

static void track_fail_post(struct track *l, int err)
{
    struct explain_place at = track_place(l);
    struct fault why = {0};

    explain(&why, EXPLAIN_POST, err, &at);
    track_fail(l, &why);
}

/* What the device shall do at the peer. */
static void track_describe(const struct track *l, const struct slice *s, struct ibv_send_wr *out)
{
    if (s->is_get && s->work->change.kind) {
        const struct work_change *c = &s->work->change;
        bool adds = c->kind == WORK_ADD;

        out->opcode = adds ? IBV_WR_ATOMIC_FETCH_AND_ADD : IBV_WR_ATOMIC_CMP_AND_SWP;
        out->wr.atomic.remote_addr = l->address + s->offset;
        out->wr.atomic.rkey = l->key;
        out->wr.atomic.compare_add = adds ? c->value : c->expected;
        out->wr.atomic.swap = c->value;
        return;
    }
    out->opcode = s->is_get ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE;
    out->wr.rdma.remote_addr = l->address + s->offset;
    out->wr.rdma.rkey = l->key;
}

void track_post(struct track *l, const struct slice *s)
{
    _Static_assert(TRACK_DEPTH == 64, "one bit of `used` for each");
    int place = __builtin_ctzll(~l->used);
    struct ibv_sge piece = {.addr = (uintptr_t)s->local, .length = s->size};
    struct ibv_send_wr *bad, work = {.wr_id = (uint64_t)place, .sg_list = &piece, .num_sge = 1};
    struct explain_place at = track_place(l);
    struct region_keys keys = {.local = l->gate->copied->lkey};
    struct fault why = {0};
    int err;

    l->slices[place] = *s;
    l->used |= 1ULL << place;
    if (s->copy < 0 && !region_find(l->gate->domain, s->local, s->size, false, &keys, &at, &why)) {
        track_fail_post(l, ENOMEM);
        return;
    }
    piece.lkey = keys.local;
    track_describe(l, s, &work);
    if (!s->is_get && s->size <= l->pair.max_inline)
        work.send_flags = IBV_SEND_INLINE;
    err = ibv_post_send(l->pair.qp, &work, &bad);
    if (err) {
        track_fail_post(l, err);
        return;
    }
    l->under_way++;
    l->gets += s->is_get;
    l->bytes += s->size;
}

/* --- completions ------------------------------------------------------------------------------ */

void track_fail(struct track *l, const struct fault *why)
{
    if (l->failed.code)
        return;
    l->failed = *why;
    l->quiet_ms = clock_ms() + QUIET_MS;
    l->give_up_ms = clock_ms() + STOP_MS;
    queue_pair_stop(&l->pair);
}

static void track_fail_completion(struct track *l, const struct ibv_wc *done)
{
    struct explain_place at = track_place(l);
    struct fault why = {0};

    if (l->failed.code)
        return;
    explain_completion(&why, (int)done->status, ibv_wc_status_str(done->status), &at);
    track_fail(l, &why);
}

int track_poll(struct track *l, struct slice *done, int most)
{
    struct ibv_wc all[BATCH];
    int good = 0, count = ibv_poll_cq(l->completions, most < BATCH ? most : BATCH, all);

    for (int i = 0; i < count; i++) {
        int place = (int)(all[i].wr_id % TRACK_DEPTH);
        const struct slice *s = &l->slices[place];

        l->under_way--;
        l->gets -= s->is_get;
        l->bytes -= s->size;
        if (all[i].status != IBV_WC_SUCCESS) {
            track_fail_completion(l, &all[i]);
            continue;
        }
        l->used &= ~(1ULL << place);
        done[good++] = *s;
    }
    return good;
}

bool track_take(struct track *l, bool lost, struct slice *out)
{
    bool is_quiet = lost || clock_ms() >= l->quiet_ms;

    for (uint64_t left = l->used; left; left &= left - 1) {
        int place = __builtin_ctzll(left);

        if (!is_quiet && !l->slices[place].is_get)
            continue;
        *out = l->slices[place];
        l->used &= ~(1ULL << place);
        return true;
    }
    return false;
}

void track_give_up(struct track *l)
{
    if (!l->under_way || clock_ms() < l->give_up_ms)
        return;
    /* Without a queue pair the device cannot touch memory for it either. */
    queue_pair_destroy(&l->pair);
    l->under_way = l->gets = 0;
    l->bytes = 0;
}

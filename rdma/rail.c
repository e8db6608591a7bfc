/* SPDX-License-Identifier: MIT */
#include "rdma/rail.h"

#include "rdma/verbs/explain.h"
#include "rdma/verbs/region.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

enum {
    DIRECT_BIT = RAIL_NUMBER_MASK + 1,
    DATA_BIT = DIRECT_BIT << 1,
    INDEX_SHIFT = 16,
    TAKEN_SHIFT = 24,
    BYTE_MASK = 0xff,
    CREDIT_EVERY = MEMORY_SLOTS / 4, /* chunks consumed until the sender is told */
    KEEPALIVE_SIZE = 8,
    STOP_MS = 2000, /* for the device to return the posted receives */
    STOP_STEP_MS = 50,
};
/* The kind of a send, in its wr_id. */
enum { SENT_CHUNK = 1, SENT_CREDIT, SENT_KEEPALIVE, SENT_ANNOUNCEMENT };

struct explain_place rail_place(const struct rail *r)
{
    return rail_fit_place(&r->fit);
}

static void rail_fail(struct rail *r, enum explain_step step, int err)
{
    struct explain_place at = rail_place(r);

    if (!r->failed.code)
        explain(&r->failed, step, err, &at);
}

/* --- bring-up --------------------------------------------------------------------------------- */

static int receives_post(struct rail *r, int count)
{
    struct ibv_recv_wr *bad;
    int err;

    if (count == 0)
        return 0;
    r->receive_work[count - 1].next = NULL;
    err = ibv_post_recv(r->pair.qp, r->receive_work, &bad);
    if (!err)
        r->receives_posted += count;
    if (count < RAIL_BATCH)
        r->receive_work[count - 1].next = &r->receive_work[count];
    return err;
}

static int queues_create(struct rail *r, struct fault *why)
{
    struct explain_place at = rail_place(r);
    int depth = QUEUE_PAIR_SENDS + 1;

    r->domain = ibv_alloc_pd(r->fit.port->context);
    if (!r->domain)
        return explain(why, EXPLAIN_DOMAIN, errno, &at);
    r->channel = ibv_create_comp_channel(r->fit.port->context);
    if (!r->channel)
        return explain(why, EXPLAIN_QUEUE, errno, &at);
    r->sends = ibv_create_cq(r->fit.port->context, depth, NULL, r->channel, 0);
    if (!r->sends)
        return explain(why, EXPLAIN_QUEUE, errno, &at);
    depth = QUEUE_PAIR_RECEIVES + 1;
    r->receives = ibv_create_cq(r->fit.port->context, depth, NULL, r->channel, 0);
    if (!r->receives)
        return explain(why, EXPLAIN_QUEUE, errno, &at);
    port_unblock(r->channel->fd);
    port_unblock(r->fit.port->context->async_fd);
    return 0;
}

size_t rail_room(const struct port *p)
{
    enum { LINE = 64 }; /* bytes; a multiple, so that a chunk holds whole elements */

    return p->attr.max_msg_sz && p->attr.max_msg_sz < MEMORY_SLOT ? p->attr.max_msg_sz / LINE * LINE
                                                                  : MEMORY_SLOT;
}

static int rail_prepare(struct rail *r, const struct rail_config *c, struct fault *why)
{
    struct explain_place at;
    int rc = port_open(&r->fit.port, c->device, c->choice.port, why);

    r->fit =
        (struct rail_fit){.port = r->fit.port, .gid_index = c->choice.gid_index, .peer = c->peer};
    if (!rc) {
        r->fit.near = rail_fit_near(r->fit.port, c->choice.near);
        r->room = rail_room(r->fit.port);
        rc = rail_fit_mtu(r->fit.port, c->choice.mtu, &r->fit.mtu, why);
    }
    if (!rc)
        rc = queues_create(r, why);
    at = rail_place(r);
    if (!rc)
        rc = memory_create(&r->memory, r->domain, &at, why);
    if (!rc)
        rc = queue_pair_create(&r->pair, (enum queue_pair_kind)c->choice.qp, r->fit.port, r->domain,
                               r->sends, r->receives, &at, why);
    if (rc)
        return rc;
    for (int i = 0; i + 1 < RAIL_BATCH; i++)
        r->receive_work[i].next = &r->receive_work[i + 1];
    _Static_assert(QUEUE_PAIR_RECEIVES % RAIL_BATCH == 0, "they are posted in whole batches");
    for (int i = 0; i < QUEUE_PAIR_RECEIVES; i += RAIL_BATCH) {
        int err = receives_post(r, RAIL_BATCH);

        if (err)
            return explain(why, EXPLAIN_POST, err, &at);
    }
    return 0;
}

int rail_open(struct rail **out, const struct rail_config *c, struct fault *why)
{
    struct rail *r = calloc(1, sizeof(*r));
    int rc;

    if (!r)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    rc = rail_prepare(r, c, why);
    if (rc) {
        rail_close(r);
        return rc;
    }
    *out = r;
    return 0;
}

void rail_close(struct rail *r)
{
    if (!r)
        return;
    queue_pair_destroy(&r->pair);
    memory_destroy(&r->memory);
    if (r->receives) {
        ibv_ack_cq_events(r->receives, r->receive_events);
        ibv_destroy_cq(r->receives);
    }
    if (r->sends) {
        ibv_ack_cq_events(r->sends, r->send_events);
        ibv_destroy_cq(r->sends);
    }
    if (r->channel)
        ibv_destroy_comp_channel(r->channel);
    if (r->domain) {
        region_forget(r->domain);
        ibv_dealloc_pd(r->domain);
    }
    port_close(r->fit.port);
    free(r);
}

void rail_publish(const struct rail *r, struct rail_end *out)
{
    rail_fit_publish(&r->fit, &r->pair, r->memory.region, out);
}

int rail_connect(struct rail *r, const struct rail_end *other, bool is_low, struct fault *why)
{
    int rc = rail_fit_connect(&r->fit, &r->pair, other, is_low, why);

    r->is_connected = !rc;
    return rc;
}

/* --- sending ---------------------------------------------------------------------------------- */

static uint32_t immediate(struct rail *r, uint32_t low)
{
    r->credited = r->taken;
    return htonl((uint32_t)(r->taken & BYTE_MASK) << TAKEN_SHIFT | low);
}

static void write_post(struct rail *r, struct ibv_send_wr *work, struct ibv_sge *piece)
{
    struct ibv_send_wr *bad;
    int err;

    if (piece->length <= r->pair.max_inline)
        work->send_flags |= IBV_SEND_INLINE;
    work->sg_list = piece;
    work->num_sge = piece->length ? 1 : 0;
    err = ibv_post_send(r->pair.qp, work, &bad);
    if (err)
        rail_fail(r, EXPLAIN_POST, err);
    else
        r->under_way++;
}

static void credit_post(struct rail *r)
{
    struct ibv_sge none = {0};
    struct ibv_send_wr work = {.wr_id = SENT_CREDIT, .opcode = IBV_WR_RDMA_WRITE_WITH_IMM};

    if (r->under_way >= QUEUE_PAIR_SENDS)
        return; /* the next poll tries again */
    work.imm_data = immediate(r, 0);
    work.wr.rdma.remote_addr = r->fit.address + MEMORY_KEEPALIVE_IN;
    work.wr.rdma.rkey = r->fit.key;
    write_post(r, &work, &none);
}

static void sends_poll(struct rail *r)
{
    struct ibv_wc done[RAIL_BATCH];
    int count;

    do {
        count = ibv_poll_cq(r->sends, RAIL_BATCH, done);
        for (int i = 0; i < count; i++) {
            r->under_way--;
            r->announcing -= done[i].wr_id == SENT_ANNOUNCEMENT;
            if (done[i].status == IBV_WC_SUCCESS) {
                r->sent += done[i].wr_id == SENT_CHUNK;
            } else if (!r->failed.code) {
                struct explain_place at = rail_place(r);

                explain_completion(&r->failed, (int)done[i].status,
                                   ibv_wc_status_str(done[i].status), &at);
            }
        }
    } while (count == RAIL_BATCH);
}

void *rail_slot(struct rail *r)
{
    /* The last places of the queue are reserved for credits and keep-alives. */
    enum { SENDS_FOR_CHUNKS = QUEUE_PAIR_SENDS - 8 };

    if (r->failed.code)
        return NULL;
    if (r->posted - r->sent >= MEMORY_SLOTS / 2 || r->under_way >= SENDS_FOR_CHUNKS)
        sends_poll(r);
    if (r->posted - r->sent >= MEMORY_SLOTS || r->posted - r->peer_taken >= MEMORY_SLOTS ||
        r->under_way >= SENDS_FOR_CHUNKS || r->failed.code)
        return NULL;
    return r->memory.bytes + MEMORY_OUT + (r->posted % MEMORY_SLOTS) * MEMORY_SLOT;
}

void rail_post(struct rail *r, size_t size, uint64_t number, const struct rail_way *way)
{
    struct rail_chunk what = {.size = (uint32_t)size,
                              .number = (uint32_t)(number & RAIL_NUMBER_MASK),
                              .from = way ? way->from : NULL};
    bool is_direct = way && way->is_direct;
    uint32_t index = (uint32_t)(r->posted & BYTE_MASK);
    size_t offset = (r->posted % MEMORY_SLOTS) * MEMORY_SLOT;
    struct ibv_sge piece = {.addr = (uintptr_t)(r->memory.bytes + MEMORY_OUT + offset),
                            .length = (uint32_t)size,
                            .lkey = r->memory.region->lkey};
    struct ibv_send_wr work = {.wr_id = SENT_CHUNK, .opcode = IBV_WR_RDMA_WRITE_WITH_IMM};

    if (what.from) {
        piece.addr = (uintptr_t)what.from;
        piece.lkey = way->key;
    }
    work.imm_data =
        immediate(r, index << INDEX_SHIFT | DATA_BIT | (is_direct ? DIRECT_BIT : 0) | what.number);
    work.wr.rdma.remote_addr = is_direct ? way->to : r->fit.address + MEMORY_IN + offset;
    work.wr.rdma.rkey = is_direct ? way->peer_key : r->fit.key;
    write_post(r, &work, &piece);
    r->out[r->posted % MEMORY_SLOTS] = what;
    r->posted++;
}

bool rail_has_read(struct rail *r, uint64_t index, uint64_t number)
{
    sends_poll(r);
    for (uint64_t i = index > r->sent ? index : r->sent; i < r->posted; i++) {
        const struct rail_chunk *c = &r->out[i % MEMORY_SLOTS];

        if (c->from && ((number - 1 - c->number) & RAIL_NUMBER_MASK) < RAIL_NUMBER_MASK / 2)
            return false;
    }
    return true;
}

bool rail_announce(struct rail *r, const struct rail_announcement *a)
{
    uint32_t place = a->serial % MEMORY_ANNOUNCEMENTS;
    unsigned char *at = r->memory.bytes + MEMORY_ANNOUNCE + place * MEMORY_ANNOUNCEMENT;
    struct ibv_sge piece = {
        .addr = (uintptr_t)at, .length = sizeof(*a), .lkey = r->memory.region->lkey};
    struct ibv_send_wr work = {.wr_id = SENT_ANNOUNCEMENT, .opcode = IBV_WR_RDMA_WRITE_WITH_IMM};
    bool may_wait =
        sizeof(*a) > r->pair.max_inline; /* not inline: the device reads the place later */

    if ((may_wait && r->announcing) || r->under_way >= QUEUE_PAIR_SENDS / 2)
        sends_poll(r);
    if (r->failed.code || (may_wait && r->announcing) || r->under_way >= QUEUE_PAIR_SENDS / 2)
        return false;
    memcpy(at, a, sizeof(*a));
    work.imm_data = immediate(r, DIRECT_BIT | place);
    work.wr.rdma.remote_addr =
        r->fit.address + MEMORY_ANNOUNCED + (uint64_t)place * MEMORY_ANNOUNCEMENT;
    work.wr.rdma.rkey = r->fit.key;
    write_post(r, &work, &piece);
    r->announcing++;
    return true;
}

const struct rail_announcement *rail_announced(const struct rail *r, uint32_t serial)
{
    const struct rail_announcement *a = &r->announced[serial % MEMORY_ANNOUNCEMENTS];

    return a->size && a->serial == serial ? a : NULL;
}

void rail_keepalive(struct rail *r)
{
    struct ibv_sge piece = {.addr = (uintptr_t)(r->memory.bytes + MEMORY_KEEPALIVE_OUT),
                            .length = KEEPALIVE_SIZE,
                            .lkey = r->memory.region->lkey};
    struct ibv_send_wr work = {.wr_id = SENT_KEEPALIVE, .opcode = IBV_WR_RDMA_WRITE};

    if (!r->is_connected || r->failed.code)
        return;
    sends_poll(r);
    if (r->under_way > 0 || r->failed.code)
        return;
    work.wr.rdma.remote_addr = r->fit.address + MEMORY_KEEPALIVE_IN;
    work.wr.rdma.rkey = r->fit.key;
    write_post(r, &work, &piece);
}

bool rail_is_reliable(const struct rail *r)
{
    return r->pair.kind == QUEUE_PAIR_RC;
}

void rail_repeat_credit(struct rail *r)
{
    if (r->failed.code)
        return;
    sends_poll(r);
    credit_post(r);
}

void rail_expect(struct rail *r, uint64_t sent)
{
    struct explain_place at = rail_place(r);
    char place[EXPLAIN_PLACE];

    if (r->arrived >= sent || r->failed.code)
        return;
    fault_set(&r->failed, ML_ERR_LINK,
              "the link%s has lost data: %s has sent %llu chunks, but only %llu have arrived",
              explain_place(&at, place), r->fit.peer, (unsigned long long)sent,
              (unsigned long long)r->arrived);
}

bool rail_is_flushed(struct rail *r)
{
    sends_poll(r);
    return r->failed.code || r->sent == r->posted;
}

/* --- receiving -------------------------------------------------------------------------------- */

static void announcement_take(struct rail *r, uint32_t place)
{
    if (place < MEMORY_ANNOUNCEMENTS)
        memcpy(&r->announced[place],
               r->memory.bytes + MEMORY_ANNOUNCED + (size_t)place * MEMORY_ANNOUNCEMENT,
               sizeof(r->announced[place]));
}

/* With that credit no slot would ever be free again. */
static void credit_refuse(struct rail *r)
{
    char place[EXPLAIN_PLACE];
    struct explain_place at = rail_place(r);

    if (!r->failed.code)
        fault_set(&r->failed, ML_ERR_LINK,
                  "credit for %llu chunks arrived%s where %llu had been sent: data was changed on "
                  "the way",
                  (unsigned long long)r->peer_taken, explain_place(&at, place),
                  (unsigned long long)r->posted);
}

/* Handles an immediate, with its chunk if it has one. */
static void receive_take(struct rail *r, const struct ibv_wc *done)
{
    uint32_t imm = ntohl(done->imm_data);

    r->peer_taken += ((imm >> TAKEN_SHIFT) - r->peer_taken) & BYTE_MASK;
    if (r->peer_taken > r->posted) {
        credit_refuse(r);
        return;
    }
    if (!(imm & DATA_BIT)) {
        if (imm & DIRECT_BIT)
            announcement_take(r, imm & RAIL_NUMBER_MASK);
        return;
    }
    if ((imm >> INDEX_SHIFT & BYTE_MASK) != (r->arrived & BYTE_MASK) ||
        r->arrived - r->taken >= MEMORY_SLOTS || done->byte_len > MEMORY_SLOT) {
        char place[EXPLAIN_PLACE];
        struct explain_place at = rail_place(r);

        if (!r->failed.code)
            fault_set(&r->failed, ML_ERR_LINK,
                      "chunk %u arrived%s where %u was expected: data was lost on the way",
                      imm >> INDEX_SHIFT & BYTE_MASK, explain_place(&at, place),
                      (unsigned)(r->arrived & BYTE_MASK));
        return;
    }
    r->in[r->arrived % MEMORY_SLOTS] = (struct rail_chunk){
        .size = done->byte_len, .number = imm & RAIL_NUMBER_MASK, .is_direct = imm & DIRECT_BIT};
    r->arrived++;
}

int rail_poll(struct rail *r)
{
    struct ibv_wc done[RAIL_BATCH];
    int count, moved = 0;

    if (r->failed.code)
        return 0;
    do {
        int good = 0, err;

        count = ibv_poll_cq(r->receives, RAIL_BATCH, done);
        r->receives_posted -= count > 0 ? count : 0;
        for (; good < count && done[good].status == IBV_WC_SUCCESS; good++)
            receive_take(r, &done[good]);
        moved |= good;
        if (good < count) {
            /* Most likely flushed; the cause is in the completion of a send. */
            struct explain_place at = rail_place(r);

            sends_poll(r);
            if (!r->failed.code)
                explain_completion(&r->failed, (int)done[good].status,
                                   ibv_wc_status_str(done[good].status), &at);
            return moved;
        }
        err = receives_post(r, good);
        if (err)
            rail_fail(r, EXPLAIN_POST, err);
    } while (count == RAIL_BATCH);
    if (r->taken - r->credited >= CREDIT_EVERY) {
        sends_poll(r);
        credit_post(r);
    }
    return moved;
}

const void *rail_next(const struct rail *r, struct rail_chunk *what)
{
    if (r->arrived == r->taken)
        return NULL;
    *what = r->in[r->taken % MEMORY_SLOTS];
    return r->memory.bytes + MEMORY_IN + (r->taken % MEMORY_SLOTS) * MEMORY_SLOT;
}

void rail_release(struct rail *r)
{
    r->taken++;
    if (r->taken - r->credited >= CREDIT_EVERY && !r->failed.code) {
        if (r->under_way >= QUEUE_PAIR_SENDS / 2)
            sends_poll(r);
        credit_post(r);
    }
}

/* --- end -------------------------------------------------------------------------------------- */

/* Takes the chunks that arrived before the failure. The other receives complete as flushed. */
static void stop_take(struct rail *r)
{
    struct ibv_wc done[RAIL_BATCH];
    int count;

    while ((count = ibv_poll_cq(r->receives, RAIL_BATCH, done)) > 0) {
        r->receives_posted -= count;
        for (int i = 0; i < count; i++)
            if (done[i].status == IBV_WC_SUCCESS)
                receive_take(r, &done[i]);
    }
}

void rail_stop(struct rail *r)
{
    struct pollfd p = {.fd = r->channel->fd, .events = POLLIN};

    queue_pair_stop(&r->pair);
    for (int waited = 0; waited < STOP_MS; waited += STOP_STEP_MS) {
        rail_arm(r, false);
        stop_take(r);
        if (r->receives_posted <= 0)
            return;
        poll(&p, 1, STOP_STEP_MS);
        rail_disarm(r);
    }
    /* The device does not return the receives. Without a queue pair it cannot write either. */
    queue_pair_destroy(&r->pair);
    stop_take(r);
}

const void *rail_posted(const struct rail *r, uint64_t index, struct rail_chunk *what)
{
    *what = r->out[index % MEMORY_SLOTS];
    if (what->from)
        return what->from;
    return r->memory.bytes + MEMORY_OUT + (index % MEMORY_SLOTS) * MEMORY_SLOT;
}

/* --- events ----------------------------------------------------------------------------------- */

void rail_arm(struct rail *r, bool sends)
{
    ibv_req_notify_cq(r->receives, 0);
    if (sends)
        ibv_req_notify_cq(r->sends, 0);
}

void rail_disarm(struct rail *r)
{
    struct ibv_cq *cq;
    void *context;

    while (ibv_get_cq_event(r->channel, &cq, &context) == 0) {
        if (cq == r->sends)
            r->send_events++;
        else
            r->receive_events++;
    }
}

/* SPDX-License-Identifier: MIT */
/* ibv_post_send(), ibv_post_recv(): what a work request may be. */
#include "rdma/standin/library/standin_send.h"

#include "rdma/standin/library/standin_end.h"
#include "rdma/standin/library/standin_hash.h"
#include "rdma/standin/library/standin_requester.h"
#include "rdma/standin/objects/standin_ah.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { ATOMIC_SIZE = 8 };

/* --- what a request may be -------------------------------------------------------------------- */

static bool is_atomic(enum ibv_wr_opcode opcode)
{
    return opcode == IBV_WR_ATOMIC_CMP_AND_SWP || opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

static bool opcode_fits(const struct standin_qp *q, enum ibv_wr_opcode opcode)
{
    static const uint32_t sends = 1U << IBV_WR_SEND | 1U << IBV_WR_SEND_WITH_IMM;
    static const uint32_t writes = 1U << IBV_WR_RDMA_WRITE | 1U << IBV_WR_RDMA_WRITE_WITH_IMM;
    static const uint32_t reads = 1U << IBV_WR_RDMA_READ | 1U << IBV_WR_ATOMIC_CMP_AND_SWP |
                                  1U << IBV_WR_ATOMIC_FETCH_AND_ADD;
    uint32_t fit = sends;

    if (q->init.qp_type != IBV_QPT_UD)
        fit |= writes;
    if (q->init.qp_type == IBV_QPT_RC)
        fit |= reads;
    return opcode < 32 && fit & standin_qp_context(q)->device.opcodes & 1U << opcode;
}

static int shape_check(const struct standin_qp *q, const struct ibv_send_wr *wr, uint64_t length,
                       const char *who)
{
    const struct standin_context *c = standin_qp_context(q);
    const struct ibv_port_attr *port = &c->device.ports[q->attr.port_num - 1].attr;
    const bool is_inline = wr->send_flags & IBV_SEND_INLINE;

    if (!opcode_fits(q, wr->opcode)) {
        standin_break(RULE_OPCODE, c, who, "opcode %d on a queue pair of type %d", wr->opcode,
                      q->init.qp_type);
        return EINVAL;
    }
    if (wr->num_sge < 0 || (uint32_t)wr->num_sge > q->init.cap.max_send_sge) {
        standin_break(RULE_SGE_COUNT, c, who, "a send of %d elements, of at most %u", wr->num_sge,
                      q->init.cap.max_send_sge);
        return EINVAL;
    }
    if (is_inline && (wr->opcode == IBV_WR_RDMA_READ || is_atomic(wr->opcode))) {
        standin_break(RULE_INLINE_READ, c, who, "IBV_SEND_INLINE with opcode %d", wr->opcode);
        return EINVAL;
    }
    if (is_inline && length > q->init.cap.max_inline_data) {
        standin_break(RULE_INLINE, c, who, "%zu bytes inline, of at most %u", (size_t)length,
                      q->init.cap.max_inline_data);
        return EINVAL;
    }
    if (length > port->max_msg_sz) {
        standin_break(RULE_MESSAGE_LENGTH, c, who, "a message of %zu bytes, of at most %u",
                      (size_t)length, port->max_msg_sz);
        return EINVAL;
    }
    if (is_atomic(wr->opcode) && length != ATOMIC_SIZE) {
        standin_break(RULE_ATOMIC_LENGTH, c, who, "an atomic of %zu bytes", (size_t)length);
        return EINVAL;
    }
    if (is_atomic(wr->opcode) && wr->wr.atomic.remote_addr % ATOMIC_SIZE) {
        standin_break(RULE_ATOMIC_ALIGNED, c, who, "an atomic at 0x%llx",
                      (unsigned long long)wr->wr.atomic.remote_addr);
        return EINVAL;
    }
    if (q->init.qp_type == IBV_QPT_UD && length > q->mtu) {
        standin_break(RULE_UD_LENGTH, c, who, "a datagram of %zu bytes, of at most %u",
                      (size_t)length, q->mtu);
        return EINVAL;
    }
    return 0;
}

static int address_check(const struct standin_qp *q, const struct ibv_send_wr *wr, const char *who)
{
    const struct standin_context *c = standin_qp_context(q);
    struct standin_ah *ah = (struct standin_ah *)wr->wr.ud.ah;

    if (q->init.qp_type != IBV_QPT_UD)
        return 0;
    if (!ah || !standin_lives(c, &ah->object, "ibv_post_send"))
        return EINVAL;
    if (ah->verbs.pd != q->verbs.qp_base.pd) {
        standin_break(RULE_UD_ADDRESS, c, who,
                      "a datagram by an address handle of another protection domain");
        return EINVAL;
    }
    if (ah->attr.port_num != q->attr.port_num) {
        standin_break(RULE_UD_ADDRESS, c, who,
                      "a datagram by an address handle of port %u, on port %u", ah->attr.port_num,
                      q->attr.port_num);
        return EINVAL;
    }
    return 0;
}

static bool inline_take(struct standin_send *w, const struct ibv_send_wr *wr)
{
    unsigned char *at = malloc(w->length + 1);

    w->inlined = at;
    for (int i = 0; at && i < wr->num_sge; i++) {
        memcpy(at, (void *)(uintptr_t)wr->sg_list[i].addr, wr->sg_list[i].length);
        at += wr->sg_list[i].length;
    }
    return at;
}

static bool is_full(const struct standin_qp *q, const char *who)
{
    const struct standin_context *c = standin_qp_context(q);
    bool has_signaled = q->init.sq_sig_all;

    if (q->sender.posted - q->sender.polled < q->init.cap.max_send_wr)
        return false;
    for (uint64_t i = q->sender.polled; i < q->sender.posted && !has_signaled; i++)
        has_signaled = q->sender.sends[i % q->init.cap.max_send_wr].is_signaled;
    /* ENOMEM is what programs post up to; without a signaled request it is for ever. */
    if (!has_signaled)
        standin_break(RULE_SEND_SIGNALED, c, who,
                      "all %u places are taken by requests without IBV_SEND_SIGNALED",
                      q->init.cap.max_send_wr);
    return true;
}

/* Takes one request; 0 or an errno. */
static int send_put(struct standin_qp *q, const struct ibv_send_wr *wr, const char *who)
{
    struct standin_context *c = standin_qp_context(q);
    const uint64_t length = wr->num_sge > 0 ? standin_sge_length(wr->sg_list, wr->num_sge) : 0;
    struct standin_send *w;
    int err = shape_check(q, wr, length, who);

    if (!err)
        err = address_check(q, wr, who);
    if (!err && is_full(q, who))
        err = ENOMEM;
    if (err)
        return err;
    w = &q->sender.sends[q->sender.posted % q->init.cap.max_send_wr];
    *w = (struct standin_send){.wr = *wr, .count = wr->num_sge, .length = length};
    w->list = q->sender.elements +
              (q->sender.posted % q->init.cap.max_send_wr) * q->init.cap.max_send_sge;
    if (wr->num_sge)
        memcpy(w->list, wr->sg_list, (size_t)wr->num_sge * sizeof(*w->list));
    w->is_signaled = q->init.sq_sig_all || wr->send_flags & IBV_SEND_SIGNALED;
    if (wr->send_flags & IBV_SEND_INLINE) {
        if (!inline_take(w, wr))
            return ENOMEM;
    } else {
        bool is_written = wr->opcode == IBV_WR_RDMA_READ || is_atomic(wr->opcode);

        w->failed = standin_sge_check(c, q->verbs.qp_base.pd, w->list, w->count, is_written, who);
        standin_sge_hold(c, w->list, w->count, 1);
        standin_send_note(q, w);
    }
    if (q->init.qp_type == IBV_QPT_UD)
        w->to = ((struct standin_ah *)wr->wr.ud.ah)->attr;
    w->psn = q->sender.psn;
    w->packets = is_atomic(wr->opcode) ? 1 : standin_packets(length, q->mtu);
    q->sender.psn = (q->sender.psn + w->packets) & STANDIN_PSN_MASK;
    q->sender.posted++;
    return 0;
}

int standin_post_send(struct ibv_qp *verbs, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
    struct standin_context *c = standin_context(verbs->context);
    struct standin_qp *q = standin_qp_of(verbs);
    char who[STANDIN_TEXT];
    int err = 0;

    standin_lock(c);
    *bad = wr;
    standin_name_qp(q, who);
    if (!standin_lives(c, &q->object, "ibv_post_send")) {
        err = EINVAL;
    } else if (verbs->state < IBV_QPS_RTS) {
        standin_break(RULE_SEND_STATE, c, who, "ibv_post_send in %s",
                      verbs->state == IBV_QPS_RTR ? "RTR" : "RESET or INIT");
        err = EINVAL;
    } else {
        for (; wr && !err; wr = err ? wr : wr->next) {
            *bad = wr;
            err = send_put(q, wr, who);
        }
        if (verbs->state == IBV_QPS_ERR)
            standin_qp_flush(q);
        else
            standin_requester_run(q);
    }
    standin_unlock(c);
    return err;
}

int standin_post_receive(struct ibv_qp *verbs, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
    struct standin_context *c = standin_context(verbs->context);
    struct standin_qp *q = standin_qp_of(verbs);
    char who[STANDIN_TEXT];
    int err = EINVAL;

    standin_lock(c);
    *bad = wr;
    standin_name_qp(q, who);
    if (!standin_lives(c, &q->object, "ibv_post_recv")) {
        err = EINVAL;
    } else if (q->init.srq) {
        standin_break(RULE_SRQ_RECEIVE, c, who, "ibv_post_recv");
    } else if (verbs->state == IBV_QPS_RESET) {
        standin_break(RULE_RECEIVE_STATE, c, who, "ibv_post_recv in RESET");
    } else {
        err = standin_receives_post(c, &q->receiver.receives, verbs->pd, wr, bad, who);
        if (verbs->state == IBV_QPS_ERR)
            standin_qp_flush_receives(q);
    }
    standin_unlock(c);
    return err;
}

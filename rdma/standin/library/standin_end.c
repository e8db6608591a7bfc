/* SPDX-License-Identifier: MIT */
#include "rdma/standin/library/standin_end.h"

#include "rdma/standin/library/standin_hash.h"
#include "rdma/standin/objects/standin_completion.h"
#include "rdma/standin/objects/standin_link.h"

#include <stdlib.h>
#include <string.h>

/* What holds before the program says anything else. */
void standin_qp_begin(struct standin_qp *q)
{
    q->attr = (struct ibv_qp_attr){.port_num = 1};
    q->mtu = standin_mtu_bytes(standin_qp_context(q)->device.ports[0].attr.active_mtu);
    q->sender.request_size = q->sender.read_size = FABRIC_SLOT_SIZE;
}

/* Says that something will have no answer. */
void standin_qp_silent(const struct standin_qp *q)
{
    struct fabric_segment s = standin_segment(q, FABRIC_ACK);

    s.syndrome = FABRIC_SILENT;
    standin_link_send(standin_qp_context(q), &s);
}

void standin_answers_drop(struct standin_qp *q)
{
    if (q->receiver.answers_head != q->receiver.answers_tail)
        standin_qp_silent(q);
    q->receiver.answers_head = q->receiver.answers_tail;
}

/* --- its end ---------------------------------------------------------------------------------- */

static enum ibv_wc_opcode opcode_of(enum ibv_wr_opcode opcode)
{
    switch (opcode) {
    case IBV_WR_RDMA_WRITE:
    case IBV_WR_RDMA_WRITE_WITH_IMM:
        return IBV_WC_RDMA_WRITE;
    case IBV_WR_RDMA_READ:
        return IBV_WC_RDMA_READ;
    case IBV_WR_ATOMIC_CMP_AND_SWP:
        return IBV_WC_COMP_SWAP;
    case IBV_WR_ATOMIC_FETCH_AND_ADD:
        return IBV_WC_FETCH_ADD;
    default:
        return IBV_WC_SEND;
    }
}

/* Its memory is the program's again. */
static void send_release(const struct standin_qp *q, struct standin_send *w)
{
    if (!w->inlined)
        standin_sge_hold(standin_qp_context(q), w->list, w->count, -1);
    free(w->inlined);
    w->inlined = NULL;
}

void standin_send_complete(struct standin_qp *q, enum ibv_wc_status status)
{
    struct standin_send *w = &q->sender.sends[q->sender.done % q->init.cap.max_send_wr];
    const struct standin_completion done = {
        .wc = {.wr_id = w->wr.wr_id,
               .status = status,
               .opcode = opcode_of(w->wr.opcode),
               .vendor_err = status,
               .byte_len = (uint32_t)w->length,
               .qp_num = standin_qp_verbs(q)->qp_num},
        .polled = &q->sender.polled,
        .place = q->sender.done + 1,
    };

    standin_send_check_unchanged(q, w, status);
    send_release(q, w);
    q->sender.done++;
    if (q->sender.next < q->sender.done) {
        q->sender.next = q->sender.done;
        q->sender.offset = 0;
    }
    if (w->is_signaled || status != IBV_WC_SUCCESS)
        standin_cq_add(standin_cq(q->init.send_cq), &done, false);
}

void standin_qp_received(struct standin_qp *q, struct standin_receive *taken,
                         const struct ibv_wc *wc, bool is_solicited)
{
    struct standin_completion done = {.wc = *wc};

    done.wc.wr_id = taken->wr_id;
    done.wc.qp_num = standin_qp_verbs(q)->qp_num;
    standin_receive_end(standin_qp_context(q), taken);
    standin_cq_add(standin_cq(q->init.recv_cq), &done, is_solicited);
}

void standin_qp_flush_receives(struct standin_qp *q)
{
    const struct ibv_wc flushed = {.status = IBV_WC_WR_FLUSH_ERR, .opcode = IBV_WC_RECV};
    struct standin_receive taken;

    if (q->receiver.receive.list)
        standin_qp_received(q, &q->receiver.receive, &flushed, false);
    while (standin_receives_take(&q->receiver.receives, &taken))
        standin_qp_received(q, &taken, &flushed, false);
}

void standin_qp_flush(struct standin_qp *q)
{
    struct ibv_qp *verbs = standin_qp_verbs(q);
    bool was_error = verbs->state == IBV_QPS_ERR;

    verbs->state = IBV_QPS_ERR;
    q->sender.lost_ns = q->sender.rnr_ns = 0;
    q->sender.reads = 0;
    while (q->sender.done < q->sender.posted)
        standin_send_complete(q, IBV_WC_WR_FLUSH_ERR);
    standin_qp_flush_receives(q);
    if (q->init.srq && !was_error)
        standin_event(standin_qp_context(q), IBV_EVENT_QP_LAST_WQE_REACHED, verbs, 0);
}

void standin_qp_fail(struct standin_qp *q, enum ibv_wc_status status)
{
    if (standin_qp_verbs(q)->state == IBV_QPS_ERR)
        return;
    standin_answers_drop(q);
    if (q->sender.done < q->sender.posted)
        standin_send_complete(q, status);
    standin_qp_flush(q);
}

void standin_qp_fail_users(struct standin_context *c, struct ibv_cq *cq)
{
    for (uint32_t i = 1; i <= c->qp_most; i++) {
        struct standin_qp *q = c->qps[i];

        if (q && (q->init.send_cq == cq || q->init.recv_cq == cq))
            standin_qp_flush(q);
    }
}

void standin_qp_reset(struct standin_qp *q)
{
    struct standin_context *c = standin_qp_context(q);
    struct standin_receive taken;

    standin_answers_drop(q);
    for (; q->sender.done < q->sender.posted; q->sender.done++)
        send_release(q, &q->sender.sends[q->sender.done % q->init.cap.max_send_wr]);
    if (q->receiver.receive.list)
        standin_receive_end(c, &q->receiver.receive);
    while (standin_receives_take(&q->receiver.receives, &taken))
        standin_receive_end(c, &taken);
    standin_cq_forget(standin_cq(q->init.send_cq), standin_qp_verbs(q)->qp_num);
    standin_cq_forget(standin_cq(q->init.recv_cq), standin_qp_verbs(q)->qp_num);
    standin_qp_verbs(q)->state = IBV_QPS_RESET;
    standin_qp_begin(q);
    q->sender.posted = q->sender.next = q->sender.done = q->sender.polled = q->sender.offset = 0;
    q->sender.lost_ns = q->sender.rnr_ns = 0;
    q->sender.reads = 0;
    q->receiver.is_nak_sent = q->receiver.is_skipping = false;
    q->receiver.received = 0;
    memset(q->receiver.taken, 0, sizeof(q->receiver.taken));
}

/* SPDX-License-Identifier: MIT */
#include "rdma/standin/library/standin_requester.h"

#include "common/clock.h"
#include "rdma/standin/library/standin_end.h"
#include "rdma/standin/objects/standin_link.h"

#include <inttypes.h>
#include <string.h>

enum { INFINITE = 7, TIMEOUT_UNIT_NS = 4096, QKEY_OWN = 31 };

static bool is_rc(const struct standin_qp *q)
{
    return q->init.qp_type == IBV_QPT_RC;
}

static struct standin_send *send_at(struct standin_qp *q, uint64_t number)
{
    return &q->sender.sends[number % q->init.cap.max_send_wr];
}

static uint32_t last_psn(const struct standin_send *w)
{
    return (w->psn + w->packets - 1) & STANDIN_PSN_MASK;
}

static bool is_read(const struct standin_send *w)
{
    return w->wr.opcode == IBV_WR_RDMA_READ || w->wr.opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
           w->wr.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

static struct fabric_segment request_segment(const struct standin_qp *q,
                                             const struct standin_send *w)
{
    static const enum fabric_segment_type types[] = {
        [IBV_WR_RDMA_WRITE] = FABRIC_WRITE,
        [IBV_WR_RDMA_WRITE_WITH_IMM] = FABRIC_WRITE,
        [IBV_WR_SEND] = FABRIC_SEND,
        [IBV_WR_SEND_WITH_IMM] = FABRIC_SEND,
        [IBV_WR_RDMA_READ] = FABRIC_READ,
        [IBV_WR_ATOMIC_CMP_AND_SWP] = FABRIC_COMPARE_SWAP,
        [IBV_WR_ATOMIC_FETCH_AND_ADD] = FABRIC_FETCH_ADD,
    };
    struct fabric_segment s = standin_segment(q, types[w->wr.opcode]);

    s.total = w->length;
    if (q->init.qp_type == IBV_QPT_UD) {
        uint32_t qkey = w->wr.wr.ud.remote_qkey;

        s.flags = 0;
        s.to = (union ibv_gid){0};
        standin_segment_address(&s, &w->to);
        s.to_qp = w->wr.wr.ud.remote_qpn;
        s.qkey = qkey >> QKEY_OWN ? q->attr.qkey : qkey;
    } else if (s.type == FABRIC_WRITE || s.type == FABRIC_READ) {
        s.address = w->wr.wr.rdma.remote_addr;
        s.rkey = w->wr.wr.rdma.rkey;
    } else if (is_read(w)) {
        s.address = w->wr.wr.atomic.remote_addr;
        s.rkey = w->wr.wr.atomic.rkey;
        s.compare = w->wr.wr.atomic.compare_add;
        s.swap_or_add =
            s.type == FABRIC_FETCH_ADD ? w->wr.wr.atomic.compare_add : w->wr.wr.atomic.swap;
    }
    return s;
}

static void segment_flags(struct fabric_segment *s, const struct standin_send *w, bool is_last)
{
    bool has_immediate =
        w->wr.opcode == IBV_WR_SEND_WITH_IMM || w->wr.opcode == IBV_WR_RDMA_WRITE_WITH_IMM;

    if (s->offset == 0)
        s->flags |= FABRIC_FIRST;
    if (!is_last)
        return;
    s->flags |= FABRIC_LAST;
    if (has_immediate) {
        s->flags |= FABRIC_IMMEDIATE;
        s->immediate = w->wr.imm_data;
    }
    if (w->wr.send_flags & IBV_SEND_SOLICITED)
        s->flags |= FABRIC_SOLICITED;
}

static bool bytes_read(const struct standin_qp *q, const struct standin_send *w, uint64_t offset,
                       void *to, size_t size)
{
    if (!w->inlined)
        return standin_sge_read(standin_qp_context(q), w->list, w->count, offset, to, size);
    memcpy(to, w->inlined + offset, size);
    return true;
}

static void request_send(struct standin_qp *q, const struct fabric_segment *s, uint32_t packets)
{
    uint32_t end = (s->psn + packets) & STANDIN_PSN_MASK;

    if (standin_psn_after(end, q->sender.sent) > 0)
        q->sender.sent = end;
    standin_link_send(standin_qp_context(q), s);
}

/* The next segment of a SEND or a WRITE. False: no slot is free, or the queue pair has failed. */
static bool segment_send(struct standin_qp *q, struct standin_send *w)
{
    struct standin_context *c = standin_qp_context(q);
    struct fabric_segment s = request_segment(q, w);
    uint64_t rest = w->length - q->sender.offset;

    s.offset = q->sender.offset;
    s.length = (uint32_t)(rest < q->sender.request_size ? rest : q->sender.request_size);
    s.packets = standin_packets(s.length, q->mtu);
    s.psn = (w->psn + (uint32_t)(q->sender.offset / q->mtu)) & STANDIN_PSN_MASK;
    if (s.length) {
        const struct standin_slot as = {.is_request = true,
                                        .context = fabric_context_of(s.to_qp),
                                        .qp = s.from_qp,
                                        .psn = s.psn};

        s.slot = standin_slot_take(c, &as);
        if (s.slot == FABRIC_NO_SLOT)
            return false;
        if (!bytes_read(q, w, q->sender.offset, standin_slot_bytes(c, s.slot), s.length)) {
            standin_slot_free(c, s.slot);
            w->failed = IBV_WC_LOC_PROT_ERR;
            return true; /* it is looked at again */
        }
    }
    q->sender.offset += s.length;
    q->sender.request_size = standin_segment_grow(q->sender.request_size);
    segment_flags(&s, w, q->sender.offset == w->length);
    request_send(q, &s, s.packets);
    return true;
}

/* --- sending ---------------------------------------------------------------------------------- */

/* True if the next request must wait for READs that are on their way. */
static bool must_wait(const struct standin_qp *q, const struct standin_send *w)
{
    if (w->wr.send_flags & IBV_SEND_FENCE && q->sender.reads && q->sender.offset == 0)
        return true;
    return is_read(w) && q->sender.reads >= q->attr.max_rd_atomic;
}

/* Asks for what has not come yet, all of it at first. */
static void read_send(struct standin_qp *q, const struct standin_send *w)
{
    struct fabric_segment s = request_segment(q, w);
    uint32_t packets = (uint32_t)(w->received / q->mtu);

    s.psn = (w->psn + packets) & STANDIN_PSN_MASK;
    s.flags |= FABRIC_FIRST | FABRIC_LAST;
    s.address += w->received;
    s.total -= w->received;
    s.reads = (uint32_t)++q->sender.reads;
    request_send(q, &s, w->packets - packets);
}

/* A request that is wrong in itself fails when all before it are done. True if it may go on. */
static bool failed_end(struct standin_qp *q, const struct standin_send *w)
{
    if (q->sender.done == q->sender.next)
        standin_qp_fail(q, w->failed);
    return false;
}

static bool send_next(struct standin_qp *q)
{
    struct standin_send *w = send_at(q, q->sender.next);

    if (w->failed)
        return failed_end(q, w);
    if (must_wait(q, w))
        return false;
    if (is_read(w)) {
        read_send(q, w);
    } else {
        do {
            if (!segment_send(q, w))
                return false;
            if (w->failed)
                return true;
        } while (q->sender.offset < w->length);
    }
    q->sender.next++;
    q->sender.offset = 0;
    if (!is_rc(q))
        standin_send_complete(q, IBV_WC_SUCCESS);
    return true;
}

void standin_requester_run(struct standin_qp *q)
{
    while (standin_qp_verbs(q)->state == IBV_QPS_RTS && !q->sender.rnr_ns &&
           q->sender.next < q->sender.posted && send_next(q))
        continue;
}

/* --- answers ---------------------------------------------------------------------------------- */

static int64_t timeout_end(const struct standin_qp *q)
{
    return clock_ns() + ((int64_t)TIMEOUT_UNIT_NS << q->attr.timeout);
}

static bool is_waiting(const struct standin_qp *q)
{
    return q->sender.done < q->sender.next || q->sender.offset;
}

/* The first READ or atomic that is posted and not answered, NULL: there is none before the packet
 * `psn`. */
static struct standin_send *unanswered(struct standin_qp *q, uint32_t psn)
{
    for (uint64_t i = q->sender.done; i < q->sender.posted; i++) {
        struct standin_send *w = send_at(q, i);

        if (standin_psn_after(w->psn, psn) >= 0)
            break;
        if (is_read(w) && !w->is_answered)
            return w;
    }
    return NULL;
}

/* The next request is not begun again before what is acknowledged of it. */
static void acked_skip(struct standin_qp *q)
{
    const struct standin_send *w =
        q->sender.next < q->sender.posted ? send_at(q, q->sender.next) : NULL;
    int32_t packets = w ? standin_psn_after(q->sender.acked, w->psn) : 0;

    if (w && !is_read(w) && packets > 0 && (uint64_t)packets * q->mtu > q->sender.offset)
        q->sender.offset = (uint64_t)packets * q->mtu;
}

/* All packets before `psn` have arrived; of READs and atomics, those that are answered. */
static void acknowledge(struct standin_qp *q, uint32_t psn)
{
    const struct standin_send *w = unanswered(q, psn);

    if (w && standin_psn_after(psn, w->psn + (uint32_t)(w->received / q->mtu)) > 0)
        psn = (w->psn + (uint32_t)(w->received / q->mtu)) & STANDIN_PSN_MASK;
    if (standin_psn_after(psn, q->sender.acked) <= 0 || standin_psn_after(psn, q->sender.sent) > 0)
        return;
    q->sender.acked = psn;
    q->sender.retries = q->attr.retry_cnt;
    q->sender.rnr_retries = q->attr.rnr_retry;
    while (q->sender.done < q->sender.posted &&
           standin_psn_after(last_psn(send_at(q, q->sender.done)), psn) < 0) {
        q->sender.reads -= q->sender.done < q->sender.next && is_read(send_at(q, q->sender.done));
        standin_send_complete(q, IBV_WC_SUCCESS);
    }
    /* It may have gone back further. */
    if (q->sender.next == q->sender.done)
        acked_skip(q);
    /* What was lost may still be to come: its time begins anew. */
    if (q->sender.lost_ns)
        q->sender.lost_ns = is_waiting(q) ? timeout_end(q) : 0;
}

/* All that is not acknowledged is to be sent anew. */
static void go_back(struct standin_qp *q)
{
    for (uint64_t i = q->sender.done; i < q->sender.next; i++)
        q->sender.reads -= is_read(send_at(q, i));
    q->sender.next = q->sender.done;
    q->sender.offset = 0;
    acked_skip(q);
}

static void read_answer(struct standin_qp *q, const struct fabric_segment *s)
{
    struct standin_context *c = standin_qp_context(q);
    const unsigned char *bytes = standin_link_bytes(c, s);
    struct standin_send *w = unanswered(q, (s->psn + 1) & STANDIN_PSN_MASK);

    /* Behind one that was lost, they are asked for again. */
    if (w && w->wr.opcode == IBV_WR_RDMA_READ && s->length <= w->length - w->received &&
        (uint64_t)standin_psn_after(s->psn, w->psn) * q->mtu == w->received &&
        (bytes || !s->length)) {
        if (s->length && !standin_sge_write(c, w->list, w->count, w->received, bytes, s->length)) {
            standin_link_free(c, s->from_context, s->slot);
            standin_qp_fail(q, IBV_WC_LOC_PROT_ERR);
            return;
        }
        w->received += s->length;
        w->is_answered = w->received == w->length;
        acknowledge(q, (s->psn + s->packets) & STANDIN_PSN_MASK);
    }
    standin_link_free(c, s->from_context, s->slot);
}

static void atomic_answer(struct standin_qp *q, const struct fabric_segment *s)
{
    struct standin_send *w = unanswered(q, (s->psn + 1) & STANDIN_PSN_MASK);

    if (!w || w->psn != s->psn || w->wr.opcode == IBV_WR_RDMA_READ)
        return;
    if (!standin_sge_write(standin_qp_context(q), w->list, w->count, 0, &s->compare,
                           sizeof(s->compare))) {
        standin_qp_fail(q, IBV_WC_LOC_PROT_ERR);
        return;
    }
    w->is_answered = true;
    acknowledge(q, (s->psn + 1) & STANDIN_PSN_MASK);
}

/* In 10 us: the specification's table of RNR NAK timer values (volume 1, 9.7.5.2.8). */
static int64_t rnr_wait_ns(uint8_t timer)
{
    static const int32_t tens[32] = {65536, 1,    2,    3,     4,     6,     8,     12,
                                     16,    24,   32,   48,    64,    96,    128,   192,
                                     256,   384,  512,  768,   1024,  1536,  2048,  3072,
                                     4096,  6144, 8192, 12288, 16384, 24576, 32768, 49152};

    return tens[timer % 32] * INT64_C(10000);
}

static void not_ready(struct standin_qp *q, const struct fabric_segment *s)
{
    if (q->attr.rnr_retry != INFINITE && q->sender.rnr_retries-- == 0) {
        char who[STANDIN_TEXT];

        standin_break(RULE_RECEIVE_POSTED, standin_qp_context(q), standin_name_qp(q, who),
                      "queue pair 0x%x had no receive after %u retries", q->attr.dest_qp_num,
                      q->attr.rnr_retry);
        standin_qp_fail(q, IBV_WC_RNR_RETRY_EXC_ERR);
        return;
    }
    go_back(q);
    q->sender.lost_ns = 0; /* it does answer */
    q->sender.retries = q->attr.retry_cnt;
    q->sender.rnr_ns = clock_ns() + rnr_wait_ns(s->rnr_timer);
    standin_wake(standin_qp_context(q));
}

static void retry(struct standin_qp *q)
{
    q->sender.lost_ns = 0; /* whatever was lost is sent again now */
    q->sender.request_size = q->mtu;
    if (q->sender.retries-- == 0) {
        standin_qp_fail(q, IBV_WC_RETRY_EXC_ERR);
        return;
    }
    go_back(q);
    standin_requester_run(q);
}

void standin_requester_answer(struct standin_qp *q, const struct fabric_segment *s)
{
    static const enum ibv_wc_status errors[] = {[FABRIC_INVALID] = IBV_WC_REM_INV_REQ_ERR,
                                                [FABRIC_NO_ACCESS] = IBV_WC_REM_ACCESS_ERR,
                                                [FABRIC_FAILED] = IBV_WC_REM_OP_ERR};

    if (!is_rc(q) || standin_qp_verbs(q)->state < IBV_QPS_RTS ||
        standin_qp_verbs(q)->state == IBV_QPS_ERR || s->from_qp != q->attr.dest_qp_num) {
        if (s->type == FABRIC_READ_RESPONSE)
            standin_link_free(standin_qp_context(q), s->from_context, s->slot);
        return;
    }
    if (s->type == FABRIC_READ_RESPONSE) {
        read_answer(q, s);
    } else if (s->type == FABRIC_ATOMIC_RESPONSE) {
        atomic_answer(q, s);
    } else if (s->syndrome == FABRIC_SILENT) {
        standin_requester_lost(q, NULL);
    } else if (s->syndrome == FABRIC_ACKED) {
        acknowledge(q, (s->psn + 1) & STANDIN_PSN_MASK);
    } else if (standin_psn_after(s->psn, q->sender.acked) >= 0 &&
               standin_psn_after(s->psn, q->sender.sent) < 0) { /* else it is late */
        acknowledge(q, s->psn);
        if (s->syndrome == FABRIC_NOT_READY)
            not_ready(q, s);
        else if (s->syndrome == FABRIC_WRONG_PSN)
            retry(q);
        else if (s->syndrome <= FABRIC_FAILED)
            standin_qp_fail(q, errors[s->syndrome]);
    }
    standin_requester_run(q);
}

/* --- time ------------------------------------------------------------------------------------- */

/* Whether the queue pair still waits for what the segment had or would have brought. */
static bool is_missed(const struct standin_qp *q, const struct fabric_segment *s)
{
    return !s || s->syndrome == FABRIC_SILENT ||
           (standin_psn_after((s->psn + s->packets) & STANDIN_PSN_MASK, q->sender.acked) > 0 &&
            standin_psn_after(s->psn, q->sender.sent) < 0);
}

void standin_requester_lost(struct standin_qp *q, const struct fabric_segment *s)
{
    int state = standin_qp_verbs(q)->state;

    /* Behind a receive that was not ready, all is sent again anyway. */
    if (!is_rc(q) || (state != IBV_QPS_RTS && state != IBV_QPS_SQD) || q->sender.lost_ns ||
        q->sender.rnr_ns || !is_waiting(q) || q->attr.timeout == 0 || !is_missed(q, s))
        return;
    q->sender.lost_ns = timeout_end(q);
    standin_wake(standin_qp_context(q));
}

int64_t standin_requester_timer(struct standin_qp *q, int64_t now)
{
    if (q->sender.lost_ns && q->sender.lost_ns <= now) {
        if (is_waiting(q))
            retry(q);
        q->sender.lost_ns = q->sender.lost_ns > now ? q->sender.lost_ns : 0;
        standin_requester_run(q);
    }
    if (q->sender.rnr_ns && q->sender.rnr_ns <= now) {
        q->sender.rnr_ns = 0;
        standin_requester_run(q);
    }
    if (q->sender.lost_ns && q->sender.rnr_ns)
        return q->sender.lost_ns < q->sender.rnr_ns ? q->sender.lost_ns : q->sender.rnr_ns;
    return q->sender.lost_ns ? q->sender.lost_ns : q->sender.rnr_ns;
}

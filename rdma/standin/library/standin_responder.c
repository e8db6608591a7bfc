/* SPDX-License-Identifier: MIT */
#include "rdma/standin/library/standin_responder.h"

#include "rdma/standin/library/standin_end.h"
#include "rdma/standin/objects/standin_completion.h"
#include "rdma/standin/objects/standin_link.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { GRH_SIZE = 40, GRH_VERSION = 6, HOPS = 64, NEXT_HEADER_IBA = 0x1b };

/* --- answers ---------------------------------------------------------------------------------- */

static struct standin_answer *answer_at(struct standin_qp *q, uint32_t number)
{
    return &q->receiver.answers[number % STANDIN_ANSWERS];
}

/* Sends a part of the answer; false: no slot is free. *is_whole: it was the last part. */
static bool answer_send(struct standin_qp *q, struct standin_answer *a, bool *is_whole)
{
    struct standin_context *c = standin_qp_context(q);
    struct fabric_segment s = standin_segment(q, a->type);
    uint64_t rest = a->total - a->offset;

    s.psn = a->psn;
    s.syndrome = a->syndrome;
    s.rnr_timer = a->rnr_timer;
    s.compare = a->value;
    *is_whole = true;
    if (a->type == FABRIC_READ_RESPONSE) {
        const struct standin_mr *m = standin_mr_find(c, a->rkey);

        s.offset = a->offset;
        s.total = a->total;
        s.length = (uint32_t)(rest < q->sender.read_size ? rest : q->sender.read_size);
        s.packets = standin_packets(s.length, q->mtu);
        if (s.length) {
            const struct standin_slot as = {
                .context = fabric_context_of(s.to_qp), .qp = s.from_qp, .psn = s.psn};

            s.slot = standin_slot_take(c, &as);
            if (s.slot == FABRIC_NO_SLOT)
                return false;
            if (!m || !standin_memory_read(standin_mr_at(m, a->address + a->offset),
                                           standin_slot_bytes(c, s.slot), s.length)) {
                standin_slot_free(c, s.slot);
                s = standin_segment(q, FABRIC_ACK);
                s.psn = a->psn;
                s.syndrome = FABRIC_FAILED;
                standin_link_send(c, &s);
                return true;
            }
        }
        if (a->offset == 0)
            s.flags |= FABRIC_FIRST;
        q->sender.read_size = standin_segment_grow(q->sender.read_size);
        a->offset += s.length;
        a->psn = (a->psn + s.packets) & STANDIN_PSN_MASK;
        *is_whole = a->offset == a->total;
        if (*is_whole)
            s.flags |= FABRIC_LAST;
    }
    standin_link_send(c, &s);
    return true;
}

void standin_responder_run(struct standin_qp *q)
{
    while (q->receiver.answers_head != q->receiver.answers_tail) {
        bool is_whole;

        if (!answer_send(q, answer_at(q, q->receiver.answers_head), &is_whole))
            return;
        if (is_whole)
            q->receiver.answers_head++;
    }
}

/* Answers go in the order of their requests. Those of writes that nothing has been sent for yet
 * become one. */
static void answer_add(struct standin_qp *q, const struct standin_answer *a)
{
    struct standin_answer *last = answer_at(q, q->receiver.answers_tail - 1);

    if (q->init.qp_type != IBV_QPT_RC)
        return;
    if (q->receiver.answers_head != q->receiver.answers_tail && a->type == FABRIC_ACK &&
        a->syndrome == FABRIC_ACKED && last->type == FABRIC_ACK && last->syndrome == FABRIC_ACKED)
        *last = *a;
    else if (q->receiver.answers_tail - q->receiver.answers_head < STANDIN_ANSWERS)
        *answer_at(q, q->receiver.answers_tail++) = *a;
    else
        standin_qp_silent(q);
    standin_responder_run(q);
}

static void answer(struct standin_qp *q, enum fabric_syndrome syndrome, uint32_t psn)
{
    answer_add(q, &(struct standin_answer){.type = FABRIC_ACK,
                                           .syndrome = (uint8_t)syndrome,
                                           .rnr_timer = q->attr.min_rnr_timer,
                                           .psn = psn & STANDIN_PSN_MASK});
}

void standin_responder_silent(struct standin_context *c, const struct fabric_segment *s)
{
    struct fabric_segment back = {.kind = FABRIC_SEGMENT,
                                  .type = FABRIC_ACK,
                                  .qp_type = s->qp_type,
                                  .port = 1,
                                  .syndrome = FABRIC_SILENT,
                                  .slot = FABRIC_NO_SLOT,
                                  .packets = 1,
                                  .from_qp = s->to_qp,
                                  .to_qp = s->from_qp,
                                  .to_lid = s->from_lid,
                                  .to = s->from};

    if (s->qp_type == IBV_QPT_RC)
        standin_link_send(c, &back);
    standin_link_free(c, s->from_context, s->slot);
}

/* --- requests that are refused ---------------------------------------------------------------- */

/* A request breaks a rule: it is told its sender, and this queue pair is in error, too. */
static void refuse(struct standin_qp *q, const struct fabric_segment *s,
                   enum fabric_syndrome syndrome)
{
    const enum ibv_event_type type =
        syndrome == FABRIC_NO_ACCESS ? IBV_EVENT_QP_ACCESS_ERR : IBV_EVENT_QP_REQ_ERR;

    answer(q, syndrome, s->psn);
    if (syndrome == FABRIC_FAILED)
        standin_qp_fail(q, IBV_WC_LOC_QP_OP_ERR);
    else
        standin_qp_flush(q);
    standin_event(standin_qp_context(q), type, standin_qp_verbs(q), 0);
}

/* The region that the request names, if it allows that. */
static struct standin_mr *remote_find(struct standin_qp *q, const struct fabric_segment *s,
                                      uint64_t length, int access, const char *what)
{
    const struct standin_context *c = standin_qp_context(q);
    struct standin_mr *m = standin_mr_find(c, s->rkey);
    char who[STANDIN_TEXT];

    standin_name_qp(q, who);
    if (!(q->attr.qp_access_flags & (unsigned)access)) {
        standin_break(RULE_REMOTE_QP_ACCESS, c, who, "a %s by queue pair 0x%x", what, s->from_qp);
        return NULL;
    }
    if (!m) {
        standin_break(RULE_REMOTE_KEY, c, who, "a %s by queue pair 0x%x with the key 0x%x", what,
                      s->from_qp, s->rkey);
        return NULL;
    }
    if (m->verbs.pd != standin_qp_verbs(q)->pd) {
        standin_break(RULE_REMOTE_DOMAIN, c, who,
                      "a %s by queue pair 0x%x with the key 0x%x of another protection domain",
                      what, s->from_qp, s->rkey);
        return NULL;
    }
    if (!standin_mr_has(m, s->address, length)) {
        standin_break(RULE_REMOTE_RANGE, c, who,
                      "a %s by queue pair 0x%x of %" PRIu64 " bytes at 0x%" PRIx64
                      ", and the region of key 0x%x has %zu at 0x%" PRIx64,
                      what, s->from_qp, length, s->address, s->rkey, m->verbs.length, m->iova);
        return NULL;
    }
    if (!(m->access & access)) {
        standin_break(RULE_REMOTE_ACCESS, c, who, "a %s by queue pair 0x%x with the key 0x%x", what,
                      s->from_qp, s->rkey);
        return NULL;
    }
    return m;
}

/* --- messages --------------------------------------------------------------------------------- */

static bool receive_take(struct standin_qp *q)
{
    if (q->receiver.receive.list)
        return true;
    return q->init.srq ? standin_srq_take((struct standin_srq *)q->init.srq, &q->receiver.receive)
                       : standin_receives_take(&q->receiver.receives, &q->receiver.receive);
}

static void message_end(struct standin_qp *q, const struct fabric_segment *s, uint64_t length)
{
    struct ibv_wc wc = {.status = IBV_WC_SUCCESS,
                        .opcode = s->type == FABRIC_WRITE ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV,
                        .byte_len = (uint32_t)length,
                        .slid = s->from_lid,
                        .sl = s->sl};

    if (s->flags & FABRIC_IMMEDIATE) {
        wc.wc_flags |= IBV_WC_WITH_IMM;
        wc.imm_data = s->immediate;
    }
    if (s->qp_type == IBV_QPT_UD)
        wc.src_qp = s->from_qp;
    if (s->flags & FABRIC_HAS_GRH)
        wc.wc_flags |= IBV_WC_GRH;
    standin_qp_received(q, &q->receiver.receive, &wc, s->flags & FABRIC_SOLICITED);
}

/* The receive is too short, or its memory is gone: an error of this side. */
static void receive_fail(struct standin_qp *q, enum ibv_wc_status status)
{
    const struct ibv_wc wc = {.status = status, .opcode = IBV_WC_RECV, .vendor_err = status};

    standin_qp_received(q, &q->receiver.receive, &wc, false);
    standin_qp_flush(q);
}

static enum fabric_syndrome send_take(struct standin_qp *q, const struct fabric_segment *s,
                                      const unsigned char *bytes)
{
    const struct standin_context *c = standin_qp_context(q);

    if (s->flags & FABRIC_FIRST)
        q->receiver.received = 0;
    if (!receive_take(q))
        return FABRIC_NOT_READY;
    if (q->receiver.received + s->length > q->receiver.receive.length) {
        char who[STANDIN_TEXT];

        standin_break(RULE_RECEIVE_LENGTH, c, standin_name_qp(q, who),
                      "a message of %" PRIu64 " bytes for a receive of %" PRIu64, s->total,
                      q->receiver.receive.length);
        answer(q, FABRIC_INVALID, s->psn);
        receive_fail(q, IBV_WC_LOC_LEN_ERR);
        return FABRIC_SILENT;
    }
    if (s->length &&
        (!bytes || !standin_sge_write(c, q->receiver.receive.list, q->receiver.receive.count,
                                      q->receiver.received, bytes, s->length))) {
        answer(q, FABRIC_FAILED, s->psn);
        receive_fail(q, IBV_WC_LOC_PROT_ERR);
        return FABRIC_SILENT;
    }
    q->receiver.received += s->length;
    if (s->flags & FABRIC_LAST)
        message_end(q, s, q->receiver.received);
    return FABRIC_ACKED;
}

static enum fabric_syndrome write_take(struct standin_qp *q, const struct fabric_segment *s,
                                       const unsigned char *bytes)
{
    if (s->flags & FABRIC_IMMEDIATE && !receive_take(q))
        return FABRIC_NOT_READY;
    if (s->total) {
        const struct standin_mr *m = remote_find(q, s, s->total, IBV_ACCESS_REMOTE_WRITE, "write");

        if (!m)
            return FABRIC_NO_ACCESS;
        if (s->offset + s->length > s->total ||
            (s->length && (!bytes || !standin_memory_write(standin_mr_at(m, s->address + s->offset),
                                                           bytes, s->length))))
            return FABRIC_FAILED;
    }
    if (s->flags & FABRIC_IMMEDIATE)
        message_end(q, s, s->total);
    return FABRIC_ACKED;
}

/* A device has room for max_dest_rd_atomic READs and atomics at once, and its peer knows how many
 * it has sent. */
static bool is_too_deep(const struct standin_qp *q, const struct fabric_segment *s)
{
    char who[STANDIN_TEXT];

    if (s->reads <= q->attr.max_dest_rd_atomic)
        return false;
    standin_break(RULE_READ_DEPTH, standin_qp_context(q), standin_name_qp(q, who),
                  "%u reads and atomics by queue pair 0x%x at once, of at most %u", s->reads,
                  s->from_qp, q->attr.max_dest_rd_atomic);
    return true;
}

static enum fabric_syndrome read_take(struct standin_qp *q, const struct fabric_segment *s)
{
    struct standin_answer a = {.type = FABRIC_READ_RESPONSE,
                               .psn = s->psn,
                               .address = s->address,
                               .total = s->total,
                               .rkey = s->rkey};

    if (s->total && !remote_find(q, s, s->total, IBV_ACCESS_REMOTE_READ, "read"))
        return FABRIC_NO_ACCESS;
    answer_add(q, &a);
    return FABRIC_ACKED;
}

static void taken_keep(struct standin_qp *q, uint32_t psn, uint32_t packets, uint64_t value)
{
    q->receiver.taken[q->receiver.taken_at++ % STANDIN_TAKEN] =
        (struct standin_taken){psn, packets, value};
}

static void atomic_answer(struct standin_qp *q, uint32_t psn, uint64_t value)
{
    answer_add(
        q, &(struct standin_answer){.type = FABRIC_ATOMIC_RESPONSE, .psn = psn, .value = value});
}

static enum fabric_syndrome atomic_take(struct standin_qp *q, const struct fabric_segment *s)
{
    const struct standin_mr *m;
    uint64_t *at, value;

    if (s->address % sizeof(value)) {
        char who[STANDIN_TEXT];

        standin_break(RULE_ATOMIC_ALIGNED, standin_qp_context(q), standin_name_qp(q, who),
                      "an atomic by queue pair 0x%x at 0x%" PRIx64, s->from_qp, s->address);
        return FABRIC_INVALID;
    }
    m = remote_find(q, s, sizeof(value), IBV_ACCESS_REMOTE_ATOMIC, "atomic");
    if (!m)
        return FABRIC_NO_ACCESS;
    at = standin_mr_at(m, s->address);
    if (!standin_memory_read(at, &value, sizeof(value)))
        return FABRIC_FAILED;
    /* Other threads of the program may look at it, so it is changed in one step. */
    if (s->type == FABRIC_FETCH_ADD) {
        value = __atomic_fetch_add(at, s->swap_or_add, __ATOMIC_SEQ_CST);
    } else {
        value = s->compare;
        __atomic_compare_exchange_n(at, &value, s->swap_or_add, false, __ATOMIC_SEQ_CST,
                                    __ATOMIC_SEQ_CST);
    }
    taken_keep(q, s->psn, 1, value);
    atomic_answer(q, s->psn, value);
    return FABRIC_ACKED;
}

/* --- reliable and unreliable connections ------------------------------------------------------ */

/* How many packets' numbers a request takes. */
static uint32_t numbers_of(const struct standin_qp *q, const struct fabric_segment *s)
{
    return s->type == FABRIC_READ ? standin_packets(s->total, q->mtu) : s->packets;
}

static enum fabric_syndrome request_do(struct standin_qp *q, const struct fabric_segment *s,
                                       const unsigned char *bytes)
{
    switch (s->type) {
    case FABRIC_SEND:
        return send_take(q, s, bytes);
    case FABRIC_WRITE:
        return write_take(q, s, bytes);
    case FABRIC_READ:
        return is_too_deep(q, s) ? FABRIC_INVALID : read_take(q, s);
    default:
        return is_too_deep(q, s) ? FABRIC_INVALID : atomic_take(q, s);
    }
}

/* The last one that had that packet's number; NULL: it is not known, as where it is from before a
 * reset. */
static const struct standin_taken *taken_find(const struct standin_qp *q, uint32_t psn)
{
    for (uint32_t i = 1; i <= STANDIN_TAKEN; i++) {
        const struct standin_taken *t =
            &q->receiver.taken[(q->receiver.taken_at - i) % STANDIN_TAKEN];

        if (((psn - t->psn) & STANDIN_PSN_MASK) < t->packets)
            return t;
    }
    return NULL;
}

/* A request that was taken before: its answer was lost. */
static void duplicate_take(struct standin_qp *q, const struct fabric_segment *s)
{
    const struct standin_taken *taken = taken_find(q, s->psn);

    if (s->type == FABRIC_SEND || s->type == FABRIC_WRITE) {
        answer(q, FABRIC_ACKED, q->receiver.expected - 1);
        return;
    }
    if (!taken) {
        standin_qp_silent(q);
        return;
    }
    /* All that its sender waits for from here on, it asks for again; not what comes before. */
    while (q->receiver.answers_head != q->receiver.answers_tail &&
           standin_psn_after(answer_at(q, q->receiver.answers_tail - 1)->psn, s->psn) >= 0)
        q->receiver.answers_tail--;
    if (s->type == FABRIC_READ) {
        q->sender.read_size = q->mtu;
        if (read_take(q, s) != FABRIC_ACKED)
            standin_qp_silent(q);
    } else {
        atomic_answer(q, s->psn, taken->value);
    }
}

/* Segments that are sent anew may be of other lengths: leaves what is new of one, and gives how
 * many bytes are left out. */
static size_t known_skip(const struct standin_qp *q, struct fabric_segment *s)
{
    uint32_t packets = (uint32_t)-standin_psn_after(s->psn, q->receiver.expected);
    size_t size = (size_t)packets * q->mtu;

    if ((s->type != FABRIC_SEND && s->type != FABRIC_WRITE) ||
        standin_psn_after(s->psn, q->receiver.expected) >= 0 || packets >= s->packets ||
        size >= s->length)
        return 0;
    s->psn = q->receiver.expected;
    s->packets -= packets;
    s->offset += size;
    s->length -= (uint32_t)size;
    s->flags &= (uint8_t)~FABRIC_FIRST;
    return size;
}

static void reliable_take(struct standin_qp *q, struct fabric_segment *s,
                          const unsigned char *bytes)
{
    size_t skip = known_skip(q, s);
    int32_t after = standin_psn_after(s->psn, q->receiver.expected);
    enum fabric_syndrome syndrome;
    uint32_t next;

    if (after < 0) {
        duplicate_take(q, s);
        return;
    }
    if (after > 0) {
        if (!q->receiver.is_nak_sent)
            answer(q, FABRIC_WRONG_PSN, q->receiver.expected);
        q->receiver.is_nak_sent = true;
        return;
    }
    /* The answer to a READ is sent while it is taken, and counts its packets. */
    next = (q->receiver.expected + numbers_of(q, s)) & STANDIN_PSN_MASK;
    if (s->type == FABRIC_READ)
        taken_keep(q, s->psn, numbers_of(q, s), 0);
    syndrome = request_do(q, s, bytes ? bytes + skip : NULL);
    if (syndrome == FABRIC_SILENT)
        return; /* the queue pair has failed */
    if (syndrome == FABRIC_NOT_READY) {
        answer(q, syndrome, s->psn);
        q->receiver.is_nak_sent = true; /* what comes behind it is not answered */
        return;
    }
    if (syndrome != FABRIC_ACKED) {
        refuse(q, s, syndrome);
        return;
    }
    q->receiver.expected = next;
    q->receiver.is_nak_sent = false;
    if (s->type == FABRIC_SEND || s->type == FABRIC_WRITE)
        answer(q, FABRIC_ACKED, next - 1);
}

/* A packet that is lost takes the rest of its message with it, and nobody hears of it. */
static void unreliable_take(struct standin_qp *q, const struct fabric_segment *s,
                            const unsigned char *bytes)
{
    enum fabric_syndrome syndrome;

    if (s->psn != q->receiver.expected && !(s->flags & FABRIC_FIRST)) {
        q->receiver.is_skipping = true;
        return;
    }
    if (s->flags & FABRIC_FIRST)
        q->receiver.is_skipping = false;
    q->receiver.expected = (s->psn + s->packets) & STANDIN_PSN_MASK;
    if (q->receiver.is_skipping)
        return;
    syndrome = request_do(q, s, bytes);
    if (syndrome == FABRIC_NOT_READY)
        q->receiver.is_skipping = true;
    else if (syndrome == FABRIC_NO_ACCESS || syndrome == FABRIC_INVALID)
        standin_event(standin_qp_context(q), IBV_EVENT_QP_ACCESS_ERR, standin_qp_verbs(q), 0);
}

/* --- datagrams -------------------------------------------------------------------------------- */

/* The 40 bytes in front of a datagram: a global route header, or where both ends have IPv4
 * addresses, 20 bytes that nothing is said of and the header of IPv4 (RoCE v2, annex A17). */
static void grh_fill(unsigned char grh[GRH_SIZE], const struct fabric_segment *s)
{
    static const unsigned char mapped[12] = {[10] = 0xff, [11] = 0xff};
    const uint16_t length = htons((uint16_t)s->length);

    memset(grh, 0, GRH_SIZE);
    if (memcmp(s->from.raw, mapped, sizeof(mapped)) == 0) {
        grh[20] = 0x45;
        memcpy(grh + 22, &length, sizeof(length));
        grh[28] = HOPS;
        grh[29] = 17; /* UDP */
        memcpy(grh + 32, s->from.raw + 12, 4);
        memcpy(grh + 36, s->to.raw + 12, 4);
        return;
    }
    grh[0] = GRH_VERSION << 4;
    memcpy(grh + 4, &length, sizeof(length));
    grh[6] = NEXT_HEADER_IBA;
    grh[7] = HOPS;
    memcpy(grh + 8, s->from.raw, sizeof(s->from.raw));
    memcpy(grh + 24, s->to.raw, sizeof(s->to.raw));
}

static void datagram_take(struct standin_qp *q, const struct fabric_segment *s,
                          const unsigned char *bytes)
{
    const struct standin_context *c = standin_qp_context(q);
    unsigned char grh[GRH_SIZE];
    char who[STANDIN_TEXT];

    if (s->qkey != q->attr.qkey) {
        standin_break(RULE_UD_QKEY, c, standin_name_qp(q, who),
                      "a datagram of queue pair 0x%x with the key 0x%x, not 0x%x", s->from_qp,
                      s->qkey, q->attr.qkey);
        return;
    }
    if (!receive_take(q))
        return; /* as on a device: it is lost */
    if (q->receiver.receive.length < GRH_SIZE + s->length) {
        standin_break(RULE_RECEIVE_LENGTH, c, standin_name_qp(q, who),
                      "a datagram of %d + %u bytes for a receive of %" PRIu64, GRH_SIZE, s->length,
                      q->receiver.receive.length);
        receive_fail(q, IBV_WC_LOC_LEN_ERR);
        return;
    }
    grh_fill(grh, s);
    if (!standin_sge_write(c, q->receiver.receive.list, q->receiver.receive.count, 0, grh,
                           GRH_SIZE) ||
        (s->length &&
         (!bytes || !standin_sge_write(c, q->receiver.receive.list, q->receiver.receive.count,
                                       GRH_SIZE, bytes, s->length)))) {
        receive_fail(q, IBV_WC_LOC_PROT_ERR);
        return;
    }
    message_end(q, s, GRH_SIZE + s->length);
}

void standin_responder_take(struct standin_qp *q, const struct fabric_segment *s)
{
    const int state = standin_qp_verbs(q)->state;
    const unsigned char *bytes = standin_link_bytes(standin_qp_context(q), s);
    struct fabric_segment rest = *s;
    const bool listens = state == IBV_QPS_RTR || state == IBV_QPS_RTS || state == IBV_QPS_SQD ||
                         state == IBV_QPS_SQE;

    if (!listens || s->qp_type != (uint8_t)q->init.qp_type ||
        (s->qp_type != IBV_QPT_UD && s->from_qp != q->attr.dest_qp_num)) {
        standin_responder_silent(standin_qp_context(q), s);
        return;
    }
    if (s->qp_type == IBV_QPT_RC)
        reliable_take(q, &rest, bytes);
    else if (s->qp_type == IBV_QPT_UC)
        unreliable_take(q, s, bytes);
    else
        datagram_take(q, s, bytes);
    standin_link_free(standin_qp_context(q), s->from_context, s->slot);
}

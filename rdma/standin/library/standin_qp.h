/* SPDX-License-Identifier: MIT */
/*
 * standin_qp.h: a queue pair: its queues, what it sends (standin_requester.h) and what it answers
 * (standin_responder.h).
 */
#ifndef RDMA_STANDIN_LIBRARY_STANDIN_QP_H
#define RDMA_STANDIN_LIBRARY_STANDIN_QP_H

#include "rdma/standin/objects/standin_memory.h"
#include "rdma/standin/objects/standin_receive.h"

enum {
    STANDIN_PSN_MASK = 0xffffff,
    STANDIN_ANSWERS = 512, /* that wait for slots: 255 READs and atomics, and ACKs between them */
    STANDIN_TAKEN = 256,   /* READs and atomics that may be asked for again */
    STANDIN_TEXT = 32,
};

/* A work request of the send queue. */
struct standin_send {
    struct ibv_send_wr wr;
    struct ibv_sge *list;
    unsigned char *inlined; /* NULL: the bytes are in the elements */
    int count;
    uint64_t length;
    uint32_t psn, packets; /* the first packet's number, and how many it takes */
    uint64_t hash;         /* the hash of its bytes at the post; 0: not taken */
    uint64_t received;     /* bytes of a READ */
    bool is_signaled, is_answered;
    enum ibv_wc_status failed; /* what was wrong when it was posted */
    struct ibv_ah_attr to;     /* UD */
};

/* An answer that waits for its turn: an ACK, or the bytes of a READ. */
struct standin_answer {
    uint8_t type, syndrome, rnr_timer;
    uint32_t psn;
    uint64_t address, total, offset, value;
    uint32_t rkey;
};

/* A READ or an atomic that was taken. */
struct standin_taken {
    uint32_t psn, packets; /* none: nothing was taken */
    uint64_t value;        /* an atomic's result */
};

/* What is sent: the requests of the send queue, and how far the peer has them. */
struct standin_sender {
    /* The requests by their numbers: polled <= done <= next <= posted. */
    struct standin_send *sends;
    struct ibv_sge *elements;
    uint64_t posted, next, done, polled;
    uint64_t offset; /* in `next`, of what is sent already */
    /* Packets' numbers: of the next request that is posted, behind all that was sent ever, and
     * before which all is acknowledged, which is in the request `done` or at its beginning. */
    uint32_t psn, sent, acked;
    int reads;                        /* READs and atomics on their way */
    uint32_t request_size, read_size; /* the next segment: standin_segment_grow() */
    int retries, rnr_retries;
    int64_t lost_ns, rnr_ns; /* when to send again, in clock_ns(); 0: no such time */
};

/* What comes: the receive queue, the message that is coming, and what it is answered by. */
struct standin_receiver {
    struct standin_receives receives;
    uint32_t expected; /* the next packet's number */
    bool is_nak_sent;
    struct standin_receive receive; /* where the message goes that is coming; list is NULL: none */
    uint64_t received;
    uint64_t write_address, write_total;
    uint32_t write_key;
    bool is_skipping; /* UC: a packet was lost, the rest of its message is left out */
    struct standin_answer answers[STANDIN_ANSWERS];
    uint32_t answers_head, answers_tail;
    struct standin_taken taken[STANDIN_TAKEN];
    uint32_t taken_at;
};

/* The requests of ibv_wr_start() to ibv_wr_complete(). */
struct standin_built {
    struct ibv_send_wr *list;
    struct ibv_sge *elements;
    unsigned char *inlined;
    int count, error;
};

struct standin_qp {
    struct ibv_qp_ex verbs; /* first; its qp_base is the struct ibv_qp */
    struct standin_object object;
    struct ibv_qp_attr attr;
    struct ibv_qp_init_attr init;
    uint32_t mtu; /* bytes */
    struct standin_sender sender;
    struct standin_receiver receiver;
    struct standin_built built;
    bool is_ex; /* made by ibv_create_qp_ex() */
};

static inline struct standin_qp *standin_qp_of(struct ibv_qp *qp)
{
    return (struct standin_qp *)qp;
}

static inline struct ibv_qp *standin_qp_verbs(struct standin_qp *q)
{
    return &q->verbs.qp_base;
}

static inline struct standin_context *standin_qp_context(const struct standin_qp *q)
{
    return standin_context(q->verbs.qp_base.context);
}

/* a - b, of packets' numbers: negative if a comes before b. */
static inline int32_t standin_psn_after(uint32_t a, uint32_t b)
{
    return (int32_t)((a - b) << 8) >> 8;
}

uint32_t standin_mtu_bytes(enum ibv_mtu mtu);
/* "queue pair 0x1011", in `text`, which is returned. */
const char *standin_name_qp(const struct standin_qp *q, char text[STANDIN_TEXT]);

/* How many packets a message of that length is. */
uint32_t standin_packets(uint64_t length, uint32_t mtu);
/* A device loses one packet, where the stand-in loses all of a segment. So what is sent anew begins
 * with one packet, and each segment has twice as many as the one before. */
uint32_t standin_segment_grow(uint32_t size);

/* A segment of `q` with all that its requests and answers share, and where it goes. */
struct fabric_segment standin_segment(const struct standin_qp *q, enum fabric_segment_type type);
void standin_segment_address(struct fabric_segment *s, const struct ibv_ah_attr *to);

#endif

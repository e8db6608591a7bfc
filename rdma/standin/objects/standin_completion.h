/* SPDX-License-Identifier: MIT */
/* standin_completion.h: completion queues, and the channels that tell when one has something. */
#ifndef RDMA_STANDIN_OBJECTS_STANDIN_COMPLETION_H
#define RDMA_STANDIN_OBJECTS_STANDIN_COMPLETION_H

#include "rdma/standin/objects/standin_rule.h"

struct standin_channel {
    struct ibv_comp_channel verbs; /* first */
    struct standin_object object;
    int events; /* the end of the pipe that is written */
    int users;
};

/* A completion, and what it means for its queue pair: when it is polled, the send queue's places up
 * to `place` are free again. */
struct standin_completion {
    struct ibv_wc wc;
    uint64_t *polled; /* becomes `place`; NULL: of a receive */
    uint64_t place;
};

enum standin_armed { STANDIN_UNARMED, STANDIN_ARMED, STANDIN_ARMED_SOLICITED };

struct standin_cq {
    struct ibv_cq verbs; /* first */
    struct standin_object object;
    struct standin_completion *ring; /* verbs.cqe of them */
    uint64_t head, tail;
    enum standin_armed armed;
    bool is_full;                       /* a completion found no place: the queue is in error */
    uint32_t comp_events, async_events; /* that ibv_get_…_event() has given */
    int users;
};

static inline struct standin_cq *standin_cq(struct ibv_cq *cq)
{
    return (struct standin_cq *)cq;
}

void standin_cq_add(struct standin_cq *q, const struct standin_completion *completion,
                    bool is_solicited);
/* The queue pair is destroyed or reset: its completions are gone, as ibv_destroy_qp(3) has it. */
void standin_cq_forget(struct standin_cq *q, uint32_t qp_number);
int standin_cq_poll(struct ibv_cq *verbs, int most, struct ibv_wc *out);
int standin_cq_notify(struct ibv_cq *verbs, int solicited_only);
int standin_cq_destroy(struct standin_context *c, struct standin_cq *q);

/* The object is destroyed: nobody is told of it any more. */
void standin_events_forget(const struct standin_context *c, const void *element);

#endif

/* SPDX-License-Identifier: MIT */
/* standin_receive.h: receives that are posted, of one queue pair or shared. */
#ifndef RDMA_STANDIN_OBJECTS_STANDIN_RECEIVE_H
#define RDMA_STANDIN_OBJECTS_STANDIN_RECEIVE_H

#include "rdma/standin/objects/standin_rule.h"

struct standin_receive {
    uint64_t wr_id;
    struct ibv_sge *list;
    int count;
    uint64_t length;
};

struct standin_receives {
    struct standin_receive *ring; /* most of them */
    struct ibv_sge *elements;
    uint32_t most, most_sge;
    uint64_t head, tail; /* posted and not taken */
};

struct standin_srq {
    struct ibv_srq verbs; /* first */
    struct standin_object object;
    struct standin_receives receives;
    uint32_t limit; /* an event comes when fewer are posted; 0: none */
    uint32_t events;
    int users;
};

bool standin_receives_open(struct standin_receives *r, uint32_t most, uint32_t most_sge);
void standin_receives_close(const struct standin_context *c, struct standin_receives *r);

/* Puts the list of requests into `r`; 0 or an errno, and *bad is the first that was not taken.
 * `object` is for sentences. */
int standin_receives_post(const struct standin_context *c, struct standin_receives *r,
                          const struct ibv_pd *pd, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad,
                          const char *object);

/* The receive for the next message, into *out, whose elements the caller frees with
 * standin_receive_end(); false: none is posted. */
bool standin_receives_take(struct standin_receives *r, struct standin_receive *out);
void standin_receive_end(const struct standin_context *c, struct standin_receive *taken);

/* The same for the receives of a shared queue, which tells its program when few are left. */
bool standin_srq_take(struct standin_srq *s, struct standin_receive *out);
uint32_t *standin_srq_events(struct ibv_srq *verbs);
int standin_srq_post(struct ibv_srq *verbs, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);

#endif

/* SPDX-License-Identifier: MIT */
/* rma_state.h: a struct rma from inside, for the files that make up rma.h. */
#ifndef RDMA_RMA_RMA_STATE_H
#define RDMA_RMA_RMA_STATE_H

#include "rdma/rma/rma.h"
#include "rdma/rma/rma_port.h"
#include "rdma/rma/rma_qps.h"
#include "rdma/verbs/rail_end.h"

#include <pthread.h>

enum { RMA_NAME = 320 };

struct rma_peer {
    struct rma_qps qps;
    struct rail_end published[RDMA_RAILS];
    char name[RMA_NAME];
    int rank;
    bool is_within; /* connected */
};

struct rma {
    struct rma_config config;
    struct bounce_pool bounce;
    struct rma_port *ports;
    struct rma_peer *peers;
    int epoll;
    /* For all of the above but the configuration, once threads use it. */
    pthread_mutex_t lock;
    pthread_cond_t moved; /* something has, or the watcher has come back */
    bool is_watched;      /* a thread sleeps for all of them */
    /* Work that was started (rma_helper.c): */
    unsigned started;      /* not reported yet */
    struct rma_op *failed; /* the failed ones among them, which the helper has to report */
    unsigned callers;      /* threads that move everything while they are in a call */
    unsigned uses;         /* how many have left something under way */
    bool has_helper;
    bool is_parked; /* the helper waits for `needed` */
    bool ends;      /* it shall end */
    pthread_t helper;
    pthread_cond_t needed;
};

#endif

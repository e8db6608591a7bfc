/* SPDX-License-Identifier: MIT */
/* reach_state.h: a reach from inside, for the files that make up reach.h. */
#ifndef RDMA_RMA_REACH_STATE_H
#define RDMA_RMA_REACH_STATE_H

#include "rdma/rma/gate.h"
#include "rdma/rma/reach.h"
#include "rdma/rma/tracks.h"
#include "rdma/verbs/rail_end.h"

#include <pthread.h>

enum { REACH_NAME = 320 };

struct reach_peer {
    struct tracks tracks;
    struct rail_end published[RDMA_RAILS];
    char name[REACH_NAME];
    int rank;
    bool is_within; /* connected */
};

struct reach {
    struct reach_config config;
    struct copies copies;
    struct gate *gates;
    struct reach_peer *peers;
    int epoll;
    /* For all of the above but the configuration, once threads use it. */
    pthread_mutex_t lock;
    pthread_cond_t moved; /* something has, or the watcher has come back */
    bool is_watched;      /* a thread sleeps for all of them */
    /* Work that was started (reach_helper.c): */
    unsigned started;    /* not reported yet */
    struct work *failed; /* those of them that the helper has to report */
    unsigned callers;    /* threads that move everything while they are in a call */
    unsigned uses;       /* how many have left something under way */
    bool has_helper;
    bool is_parked; /* the helper waits for `needed` */
    bool ends;      /* it shall end */
    pthread_t helper;
    pthread_cond_t needed;
};

#endif

/* SPDX-License-Identifier: MIT */
/* explain.h: a failed call of libibverbs as a sentence: what was tried, where, the system's error,
 * the likely cause and the remedy. */
#ifndef RDMA_VERBS_EXPLAIN_H
#define RDMA_VERBS_EXPLAIN_H

#include "common/fault.h"
#include "rdma/verbs/gid.h"

enum explain_step {
    EXPLAIN_OPEN,    /* ibv_open_device */
    EXPLAIN_PORT,    /* ibv_query_port */
    EXPLAIN_GIDS,    /* ibv_query_gid_table */
    EXPLAIN_DOMAIN,  /* ibv_alloc_pd */
    EXPLAIN_MEMORY,  /* ibv_reg_mr */
    EXPLAIN_QUEUE,   /* ibv_create_cq, ibv_create_comp_channel */
    EXPLAIN_PAIR,    /* ibv_create_qp */
    EXPLAIN_TO_INIT, /* ibv_modify_qp to INIT, RTR, RTS */
    EXPLAIN_TO_RTR,
    EXPLAIN_TO_RTS,
    EXPLAIN_POST, /* ibv_post_send, ibv_post_recv */
    EXPLAIN_STEPS,
};

/* Where it happened. What is not known yet is NULL or 0. */
struct explain_place {
    const char *device;
    int port;
    const struct gid *gid; /* this side's */
    const struct gid *peer_gid;
    const char *peer; /* "rank 3 on host b" */
};

/* Sets `why` and returns its code: ML_ERR_LINK if the path to the peer is at fault, else
 * ML_ERR_MEMORY or ML_ERR_DEVICE. err: an errno. */
int explain(struct fault *why, enum explain_step step, int err, const struct explain_place *at);

/* The same for a completion with an error: `status` is an enum ibv_wc_status, `word` its name. */
int explain_completion(struct fault *why, int status, const char *word,
                       const struct explain_place *at);

/* Writes " on mlx5_0 port 1 (GID 3, ::ffff:10.0.0.1) towards rank 3 on host b" into `text`, for use
 * in other sentences; returns `text`. */
enum { EXPLAIN_PLACE = 400 };
const char *explain_place(const struct explain_place *at, char text[EXPLAIN_PLACE]);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * join_branch.h: with --fanout, the hosts that call this one, and not the head: their frames pass
 * through it unread, in both directions. Nothing is kept beyond a bound: when the connection
 * towards the head is full, the hosts below are not read, and the other way round.
 */
#ifndef LAUNCHER_WIRE_JOIN_JOIN_BRANCH_H
#define LAUNCHER_WIRE_JOIN_JOIN_BRANCH_H

#include "launcher/wire/uplink/uplink_edges.h"

struct join_branch;

struct join_branch_config {
    struct uplink_tree tree;
    int index;                  /* this host's */
    const char *ip;             /* to listen on */
    const uint8_t *key;         /* copied */
    struct uplink_stream *up;   /* towards the head; until join_branch_finish() */
    void (*on_left)(void *arg); /* a host below has left; from the loop */
    void *arg;
};

/* ML_ERR_SYSTEM: it cannot listen; ML_ERR_MEMORY. */
int join_branch_open(struct join_branch **out, struct event_base *base,
                     const struct join_branch_config *config, struct fault *why);
const char *join_branch_where(const struct join_branch *b); /* "addr:port" */

/* A frame of UPLINK_ROUTED from above. False: it is for no host below. */
bool join_branch_pass(struct join_branch *b, const struct frame *f);
/* A frame of UPLINK_MANY from above, for those below that it is for. */
void join_branch_spread(struct join_branch *b, const struct frame *f, const struct uplink_many *m);
void join_branch_resume(struct join_branch *b); /* the connection towards the head has room */

/* That connection is over, and all below get the job's exit status. */
void join_branch_finish(struct join_branch *b, int status);
bool join_branch_is_empty(const struct join_branch *b);
void join_branch_close(struct join_branch *b); /* takes NULL */

#endif

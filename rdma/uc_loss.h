/* SPDX-License-Identifier: MIT */
/*
 * uc_loss.h: detects that the last chunks sent over an unreliable rail (UC) were lost, which no gap
 * in the indexes shows. A sleeping receiver to which nothing comes asks the peer, by a control
 * message, how many chunks it has sent. If they have not arrived some seconds after the answer,
 * they are lost.
 */
#ifndef RDMA_UC_LOSS_H
#define RDMA_UC_LOSS_H

#include "rdma/rails.h"

#include <stdbool.h>
#include <stdint.h>

struct uc_loss_rail {
    bool must_query, must_answer; /* control messages to send */
    bool has_answer;              /* the peer said that it had sent `sent` chunks */
    int ticks;                    /* since that answer */
    uint64_t sent, seen;          /* seen: chunks that had arrived at the last tick */
};
struct uc_loss {
    struct uc_loss_rail of[RDMA_RAILS];
    bool any_control; /* there are control messages to send */
};

/* Call it after each second of sleep. Fails rails on which chunks were lost. */
void uc_loss_tick(struct uc_loss *u, struct rails *s);

/* Stores the next control message for the peer in *control; false: there is none. */
bool uc_loss_control_next(struct uc_loss *u, const struct rails *s, struct rail_control *control);
/* Handles a QUERY or SENT of the peer; control->rail must be a valid index. */
void uc_loss_control_take(struct uc_loss *u, struct rails *s, const struct rail_control *control);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * uc_loss.h: whether what was sent last over unreliable rails (UC) has been lost, which no gap in the
 * numbers shows: a sleeper to whom nothing comes asks the peer, by another way, how far it has sent, and
 * what is not here a while after the answer is lost.
 */
#ifndef RDMA_UC_LOSS_H
#define RDMA_UC_LOSS_H

#include "rdma/rails.h"

#include <stdbool.h>
#include <stdint.h>

struct uc_loss_rail {
    bool must_query, must_answer; /* words to be said */
    bool has_answer;              /* the peer said that it had sent `sent` */
    int ticks;                    /* since then */
    uint64_t sent, seen;          /* seen: what had arrived at the last tick */
};
struct uc_loss {
    struct uc_loss_rail of[RAILS_MOST];
    bool any_control; /* words are to be said */
};

/* A second of sleep is over. */
void uc_loss_tick(struct uc_loss *u, struct rails *s);

/* The next word for the peer, if there is one; and what came from it, of one of the rails. */
bool uc_loss_control_next(struct uc_loss *u, const struct rails *s, struct rail_control *control);
void uc_loss_control_take(struct uc_loss *u, struct rails *s, const struct rail_control *control);

#endif

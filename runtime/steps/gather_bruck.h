/* SPDX-License-Identifier: MIT */
/*
 * gather_bruck.h: the all-gather for shares of different sizes between many ranks: in round k each
 * rank passes all shares that it has so far to the rank 2^k before it (Bruck et al. 1997, as in
 * all_gather.c). Each share is a message of its own and lies in its place from the start, so
 * nothing is copied, and every size meets the opinion of the rank that it came from.
 */
#ifndef RUNTIME_STEPS_GATHER_BRUCK_H
#define RUNTIME_STEPS_GATHER_BRUCK_H

#include "runtime/steps/hierarchy.h"
#include "runtime/steps/steps.h"

/* shares: where each of the team's shares is in `out`, which has this rank's already. p: with room
 * for the team's size of transfers. Errors as from message_op_wait. */
int gather_bruck(struct pipeline *p, const struct team *m, char *out, const struct piece *shares,
                 struct fault *why);

#endif

/* SPDX-License-Identifier: MIT */
/* exchange.h: each member of a group gives the others some bytes, through the coordinator. */
#ifndef RUNTIME_GROUP_EXCHANGE_H
#define RUNTIME_GROUP_EXCHANGE_H

#include "runtime/group/group.h"

struct blob {
    const void *bytes;
    uint32_t size;
};

struct exchange; /* the answer: one blob of each member */

/* Collective over g, which must have been added by coord_events_add. Returns once all members have
 * called it; with an empty blob it is a barrier. Not for groups of one, which the coordinator need
 * not know. Fails as coord_events_await, or with ML_ERR_MEMORY, ML_ERR_REFUSED. The thread that
 * uses g calls it. deadline_ms: in clock_ms. */
int exchange_run(struct exchange **out, struct group *g, struct blob mine, int64_t deadline_ms,
                 struct fault *why);
/* As exchange_run, with another blob for each member: `mine` has g->size of them. */
int exchange_run_each(struct exchange **out, struct group *g, const struct blob *mine,
                      int64_t deadline_ms, struct fault *why);
struct blob exchange_blob(const struct exchange *x, int rank); /* valid until exchange_destroy */
void exchange_destroy(struct exchange *x);                     /* takes NULL */

#endif

/* SPDX-License-Identifier: MIT */
/* exchange.h: every member of a group hands the others a blob, through the coordinator. */
#ifndef RUNTIME_GROUP_EXCHANGE_H
#define RUNTIME_GROUP_EXCHANGE_H

#include "runtime/group/group.h"

struct blob {
    const void *bytes;
    uint32_t size;
};

struct exchange; /* what came back */

/* Collective over g, which must be known to news. Returns once all members have called it; with an
 * empty blob it is a barrier. Not for groups of one, which the coordinator need not know. */
int exchange_run(struct exchange **out, struct group *g, struct blob mine, int64_t deadline_ms,
                 struct fault *why);
/* As exchange_run, with a blob of its own for each member: `mine` has g->size of them. */
int exchange_run_each(struct exchange **out, struct group *g, const struct blob *mine,
                      int64_t deadline_ms, struct fault *why);
struct blob exchange_blob(const struct exchange *x, int rank); /* valid until exchange_destroy */
void exchange_destroy(struct exchange *x);                     /* takes NULL */

#endif

/* SPDX-License-Identifier: MIT */
/*
 * leaders.h: what the algorithms share in which one rank of each host, its head, exchanges messages
 * with the other hosts: as few messages between hosts as there are hosts. The head is the host's
 * first rank; on the root's host, in calls that have a root, it is the root.
 */
#ifndef RUNTIME_STEPS_LEADERS_H
#define RUNTIME_STEPS_LEADERS_H

#include "runtime/steps/hierarchy.h"
#include "runtime/steps/steps.h"

/* The head of a host (its place in h->leaders). root: a rank, or -1. */
static inline int leaders_head(const struct hierarchy *h, int host, int root)
{
    return root >= 0 && h->host_of[root] == host ? root : h->leaders.ranks[host];
}

/* The team of all heads. heads: room for one rank a host, which the team keeps using. */
struct team leaders_team(const struct hierarchy *h, int root, int *heads);

/* The ranks of this host send `in` (`size` bytes) to its head, which reduces them in their order
 * into `sum`; it may be `in`. work: the head's room for all of them. Only the head uses sum and
 * work. */
int leaders_reduce(struct pipeline *p, int head, const void *in, void *sum, size_t size, void *work,
                   struct fault *why);

/* The head sends buf to the other ranks of its host, which receive it there. */
int leaders_spread(struct pipeline *p, int head, void *buf, size_t size, struct fault *why);

#endif

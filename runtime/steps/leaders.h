/* SPDX-License-Identifier: MIT */
/*
 * leaders.h: what the algorithms share in which one rank of each host, its head, speaks for it with the other hosts: as few
 * messages between hosts as there are hosts. It is the host's first rank; on the root's host, of calls that have one, the
 * root.
 */
#ifndef RUNTIME_STEPS_LEADERS_H
#define RUNTIME_STEPS_LEADERS_H

#include "runtime/steps/hierarchy.h"
#include "runtime/steps/steps.h"

static inline int leaders_head(const struct hierarchy *h, int host, int root)
{
    return root >= 0 && h->host_of[root] == host ? root : h->leaders.ranks[host];
}

/* `heads`: room for each host's. */
struct team leaders_team(const struct hierarchy *h, int root, int *heads);

/* The ranks of this host hand `in` to its head, which reduces them in their order. work: the head's room for all of them.
 * sum: the head's; may be its `in`. */
int leaders_reduce(struct pipeline *p, int head, const void *in, void *sum, size_t size, void *work,
                   struct fault *why);

/* The head gives buf to the others of its host. */
int leaders_spread(struct pipeline *p, int head, void *buf, size_t size, struct fault *why);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * wait_graph.h: who waits for whom. The coordinator asks it about the calls that ranks have
 * reported to it, and the report of a job that hangs about what the agents say of their ranks.
 */
#ifndef COMMON_NET_WAIT_GRAPH_H
#define COMMON_NET_WAIT_GRAPH_H

#include <stddef.h>
#include <stdint.h>

/* A rank that waits in a call. */
struct wait {
    int rank;
    uint32_t group, call; /* those with an equal call of a group are together; 0: a message */
    int *peers;           /* the ranks that it is known to wait for: first those that are to send */
    size_t count, senders;
};

/* The ranks in one call, and those that they wait for, each list sorted. */
struct wait_call {
    int *present, *absent; /* owned, in one piece that begins with `present` */
    size_t present_count, absent_count;
};

/* The call of waits[which]: its ranks wait for those of their peers that are not in it, and for all
 * other `members` if none of them names a peer. A message is its rank's alone. ML_ERR_MEMORY;
 * free(out->present), also then. */
int wait_graph_call(struct wait_call *out, const struct wait *waits, size_t count, size_t which,
                    const int *members, size_t member_count);

/* Finds ranks each of which waits for the next, and the last for the first. `waits` are sorted by
 * rank, and `circle` has room for `count` of them. Returns how many are in the circle, 0 if there
 * is none. A rank that waits in several calls at once is in none: one of its threads may help the
 * others. */
size_t wait_graph_circle(const struct wait *waits, size_t count, int *circle);

#endif

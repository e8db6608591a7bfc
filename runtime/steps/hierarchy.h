/* SPDX-License-Identifier: MIT */
/*
 * hierarchy.h: teams of a group's ranks. If some hosts have several ranks, the ranks of each host
 * are a team, whose first rank is its leader; the leaders are a team; and if every host has equally
 * many ranks, those in the same place on each host are a team too.
 */
#ifndef RUNTIME_STEPS_HIERARCHY_H
#define RUNTIME_STEPS_HIERARCHY_H

#include "common/fault.h"

#include <stdbool.h>

struct group;

/* Some of the group's ranks, in the same order on each; this rank is ranks[index]. */
struct team {
    const int *ranks; /* NULL: all ranks of the group */
    int size, index;
};

struct hierarchy {
    struct team local; /* the ranks of this host */
    struct team
        leaders; /* one for each host; index is this host's, even if this rank is no leader */
    struct team across; /* the ranks in this rank's place on each host, by host; only if is_even */
    bool is_even;       /* equally many ranks on each host */
    const int *host_of; /* for each rank its host's index in `leaders` */
    const int *by_host; /* all ranks, host by host; local.size of each if is_even */
    const int *first;   /* for each host where it begins in by_host; one more is the end */
    int ranks[];
};

/* Stores g's hierarchy, which the caller frees with free(), or NULL if there is one host, or one
 * rank on each. It is the same on all ranks but for the places. ML_ERR_MEMORY. */
int hierarchy_find(struct hierarchy **out, const struct group *g, struct fault *why);

/* The group's rank at `index`. */
static inline int team_rank(const struct team *m, int index)
{
    return m->ranks ? m->ranks[index] : index;
}

/* All ranks of g in the order in which rings and chains pass through them: host by host, so that as
 * few messages as possible cross between hosts. */
struct team team_ring(const struct group *g);

/* The index `distance` (>= -size) after this rank's, around the ring. */
static inline int team_after(const struct team *m, int distance)
{
    return (m->index + distance + m->size) % m->size;
}

#endif

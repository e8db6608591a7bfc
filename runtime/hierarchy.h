/* SPDX-License-Identifier: MIT */
/*
 * hierarchy.h: teams of a group's ranks. Where equally many lie on each of several hosts, every rank is in
 * two: of those on its host, and of those that have the same place on each host.
 */
#ifndef RUNTIME_HIERARCHY_H
#define RUNTIME_HIERARCHY_H

#include "common/fault.h"

struct group;

/* Some of the group's ranks, in the group's order; this one is ranks[place]. */
struct team {
    const int *ranks; /* NULL: all of them */
    int size, place;
};

struct hierarchy {
    struct team local, across;
    int ranks[];
};

/* *out: to be freed; NULL if there is one host, one rank a host, or not equally many. ML_ERR_MEMORY. */
int hierarchy_find(struct hierarchy **out, const struct group *g, struct fault *why);

static inline int team_rank(const struct team *m, int place)
{
    return m->ranks ? m->ranks[place] : place;
}

/* The place `distance` (>= -size) behind this rank's, around the ring. */
static inline int team_after(const struct team *m, int distance)
{
    return (m->place + distance + m->size) % m->size;
}

#endif

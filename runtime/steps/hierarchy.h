/* SPDX-License-Identifier: MIT */
/*
 * hierarchy.h: teams of a group's ranks. Where a host has several, each rank is in the team of its host, whose first
 * one is its leader; the leaders are a team, and where equally many ranks lie on each host, those that have the same
 * place on each are one, too.
 */
#ifndef RUNTIME_STEPS_HIERARCHY_H
#define RUNTIME_STEPS_HIERARCHY_H

#include "common/fault.h"

#include <stdbool.h>

struct group;

/* Some of the group's ranks, in an order that all of them share; this one is ranks[place]. */
struct team {
    const int *ranks; /* NULL: all of them */
    int size, place;
};

struct hierarchy {
    struct team local;   /* this host's */
    struct team leaders; /* a host each; place: this host's, also of a rank that is no leader */
    struct team across;  /* of the same place on each host, by host; if is_even */
    bool is_even;        /* equally many ranks on each host */
    const int *host_of;  /* of each rank: its host's place in `leaders` */
    const int *by_host;  /* all ranks, host by host; if is_even, of local.size each */
    const int *first;    /* of each host: where it begins in by_host; then one more, the end */
    int ranks[];
};

/* *out: to be freed; NULL if there is one host, or one rank on each. The same on all ranks but for places. ML_ERR_MEMORY. */
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

/* SPDX-License-Identifier: MIT */
/* world.h: the job as this process sees it while it holds its rank. world_join.c fills it before
 * ml_init returns; after that only ml_repair changes it: its membership, its group, and what is
 * atomic here, since other threads may be in calls. Any thread may read the rest (coord_events.h
 * has a lock of its own). */
#ifndef RUNTIME_GROUP_WORLD_H
#define RUNTIME_GROUP_WORLD_H

#include "common/net/auth.h"
#include "common/net/job_file.h"

#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct calls_file;
struct claim;
struct group;
struct coord_events;
struct door;
struct keep_state;
struct rank_counters;

/* What ml_repair has changed: ids, ascending. */
struct world_change {
    int *left, *came;
    int left_count, came_count;
};

/* The names of lost hosts, which a thread may be reading. */
struct old_names {
    char **list;
    int count;
};

struct world {
    bool is_launched;   /* false: a group of one, no coordinator, no directory */
    char dir[PATH_MAX]; /* MLAUNCH_JOB_DIR */
    struct job_file job;
    uint8_t secret[AUTH_SECRET];
    int rank, size; /* both count ids: those of members that have gone, too */
    int most;       /* ids that there may ever be: host_of has room for them */
    uint32_t generation;
    int replaces;     /* which process in its rank's place this is, after the first; 0: that one */
    bool is_newcomer; /* others were members before it, with which it goes on */
    uint32_t membership;          /* how often ml_repair has changed it */
    _Atomic uint32_t world_id;    /* its group's number */
    _Atomic unsigned group_count; /* groups that have been created, and not destroyed */
    int hosts;                    /* those that have gone, too */
    int hosts_most;               /* for which host_names has room */
    int *host_of;                 /* per rank */
    char **host_names;            /* per host */
    struct old_names old_names;
    _Atomic bool
        is_crowded; /* this host has more ranks than processors: spinning takes others' time */
    struct claim *claim;
    struct coord_events *coord_events;
    struct door *door;              /* NULL: no rank connects to this process */
    bool is_eager;                  /* groups connect all their members when they are made */
    struct rank_counters *counters; /* rank_counters.h, or NULL */
    struct calls_file *calls;       /* calls_file.h, or NULL */
    _Atomic size_t gpu_piece;       /* as struct group has it; what all its groups get */
    struct group *group;            /* all ranks; after ml_repair those that live */
    struct world_change change;     /* by the last ml_repair */
    struct keep_state *keep;        /* keep_state.h; NULL before the first ml_kept */
    bool *has_come; /* per rank: its process is newer than `group`; or NULL: none is */
};

#endif

/* SPDX-License-Identifier: MIT */
/* world.h: the job as this process sees it while it holds its rank. */
#ifndef RUNTIME_WORLD_H
#define RUNTIME_WORLD_H

#include "common/job_file.h"
#include "runtime/group/group.h"
#include "runtime/transport/shm_offer.h"

#include <limits.h>

struct news;
struct claim;

struct world {
    bool is_launched;   /* false: a group of one, no coordinator, no directory */
    char dir[PATH_MAX]; /* MLAUNCH_JOB_DIR */
    struct job_file job;
    uint8_t secret[AUTH_SECRET];
    int rank, size;
    uint32_t generation;
    int hosts;
    int *host_of;           /* per rank */
    char **host_names;      /* per host */
    int local_size;         /* ranks on this host */
    bool is_crowded;        /* more of them than processors: spinning takes others' time */
    struct shm_giver giver; /* of this process */
    struct claim *claim;
    struct news *news;
    struct group *group; /* all ranks */
};

/* Joins and leaves, counted; `eager` as in table.h. Thread-safe. */
int world_init(struct world **out, bool eager, struct fault *why);
int world_finalize(struct fault *why);

/* The world if there is one, for ml_abort; else NULL. */
struct world *world_current(void);

#endif

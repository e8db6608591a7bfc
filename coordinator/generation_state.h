/* SPDX-License-Identifier: MIT */
/*
 * generation_state.h: a generation, the n-th claims of all ranks, as the coordinator's files share
 * it: which ranks have joined, and the groups that they have made. All of it belongs to the loop's
 * thread.
 */
#ifndef COORDINATOR_GENERATION_STATE_H
#define COORDINATOR_GENERATION_STATE_H

#include "common/fault.h"
#include "coordinator/limit.h"
#include "coordinator/next_world.h"

#include <stdbool.h>
#include <stdint.h>

struct connection;
struct creation;
struct event;
struct server;
struct server_group;

/* Ranks that wait for others without a WAITING: in JOIN, EXCHANGE, SPLIT or AGREE (meeting.c). */
struct server_meeting {
    int64_t since_ms; /* limits_now_ms: when the first of them came; 0: nobody waits */
    bool is_reported;
};

/*
 * A rank's part in one generation: the process that has claimed the rank there, and what has become
 * of it. It lives as long as the generation, which has one for each number, ABSENT until the rank
 * joins; a newcomer gets that of the process before it. It is no member: members are ranks of a
 * group.
 */
struct generation_rank {
    enum rank_state state;
    struct generation *generation;
    int rank;
    int64_t pid;
    struct connection *connection; /* NULL once closed */
    struct event *timer;           /* waits for the agent's report; NULL until needed */
    char *abort_text;              /* the reason that it gave to ml_abort */
    bool is_untold;                /* LEFT: the others have not been told yet */
    bool has_repaired;             /* JOINED: it waits for the next world */
};

struct generation {
    struct server *server;
    uint32_t number;
    struct generation_rank *ranks; /* one for each rank */
    int joined;
    struct server_meeting meeting; /* until all have joined */
    bool is_complete;
    struct fault failed;   /* code != 0: the answer to every rank that joins */
    struct limit limit;    /* the shortest time-out of those that joined */
    struct event *leavers; /* tells which ranks have left; NULL until needed */
    int64_t deadline_ms, timeout_ms;
    struct server_group *groups; /* the world last */
    struct creation *creations;
    uint32_t next_group;
    uint32_t membership; /* how often the members of its world have changed (membership.c) */
    uint32_t world;      /* the number of its group; those below are of earlier memberships */
    bool is_repairing;   /* a rank has sent REPAIR */
    struct limit repair_limit;
    struct limit place_limit; /* all that live have come, and wait for newcomers */
    bool has_waited;          /* for them, long enough */
    struct generation *next;
};

#endif

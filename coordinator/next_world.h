/* SPDX-License-Identifier: MIT */
/*
 * next_world.h: the rule that says who is in the next world, once ranks have called ml_repair. It
 * takes facts about the ranks and gives a decision; it reads no clock and sends nothing.
 * membership.c carries the decision out, and asks again when a fact has changed.
 *
 * Each rank that lives is awaited until it has called ml_repair or is gone. Then newcomers are
 * awaited for the empty places that somebody may still take, but not for ever. The next world is
 * all ranks that have called, and the newcomers that wait by then.
 */
#ifndef COORDINATOR_NEXT_WORLD_H
#define COORDINATOR_NEXT_WORLD_H

#include <stdbool.h>

/*
 * ABSENT ──JOIN──▶ JOINED ──connection ends──▶ DYING ──agent's report or time-out──▶ DEAD
 *                    └──LEAVE──▶ LEFT
 *
 * To a coordinator that takes over, a rank is ABSENT until it has found it.
 */
enum rank_state { RANK_ABSENT, RANK_JOINED, RANK_DYING, RANK_LEFT, RANK_DEAD };

struct next_world_rank {
    enum rank_state state;
    bool has_repaired; /* it has called ml_repair, whatever has become of it since */
    bool has_ended;    /* its process is known to have ended; matters while ABSENT */
    bool is_open;      /* if it is dead, somebody may still come to take its place */
    bool has_newcomer; /* who has come to take its place waits for the next world */
};

struct next_world_facts {
    const struct next_world_rank *ranks; /* `count`, by rank */
    int count;
    int newcomers_ms; /* for how long newcomers may be awaited; 0: they are not */
    bool has_waited;  /* for them, that long */
};

enum next_world_step {
    NEXT_WORLD_AWAIT_LIVING,    /* somebody that lives has not called ml_repair */
    NEXT_WORLD_AWAIT_NEWCOMERS, /* all have; `wait_ms` from now on, unless that has begun */
    NEXT_WORLD_MAKE,            /* `count` ranks are the next world */
    NEXT_WORLD_END,             /* nobody is left that has called it */
};

struct next_world {
    enum next_world_step step;
    int wait_ms; /* AWAIT_NEWCOMERS */
    int count;   /* MAKE: at least 1 */
};

/* True if the rank may still call ml_repair, or has called it and has not gone since. DYING is
 * decided soon. */
bool next_world_is_alive(const struct next_world_rank *r);

/* True if the rank has called ml_repair and waits for the next world. */
bool next_world_is_ready(const struct next_world_rank *r);

/* `ranks` has room for all of them, and gets those of the next world in ascending order (MAKE). */
struct next_world next_world_decide(const struct next_world_facts *f, int *ranks);

#endif

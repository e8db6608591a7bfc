/* SPDX-License-Identifier: MIT */
/*
 * lives.h: in which state each host and each rank of a run is, and what follows from an event. The
 * two tables are in lives.c; nothing else changes a state.
 *
 * A host. All states up to ANNOUNCED are also those of a host that comes while the ranks of others
 * run (is_coming), to take a lost one's place or by mlaunch grow:
 *
 *              HELLO              READY             START           DONE        STAY
 *     OPENING ───────▶ CONNECTED ──────▶ PREPARED ─────────▶ STARTED ─────▶ DONE ─────▶ STAYS
 *        ▲                                  │         ▲       ▲  │           ▲
 *        │                         ANNOUNCE └▶ANNOUNCED   MEND│  │CUT        │
 *        │ COME                                               │  ▼           │
 *        │                                                   CUT_OFF ───────▶│
 *      GONE ◀── END, from each state but FAILED                  │ GIVE_UP   │
 *                                                                ▼           │
 *     before START: FAIL ──▶ FAILED ── END ──▶ MISSING        GIVEN_UP ──────┘
 *     before the job's START: MISS ──▶ MISSING; COME leads from there to OPENING, too
 *
 * A rank. With --elastic --restarts other processes take its place; one that mlaunch grow has added
 * begins in ADDED:
 *
 *     RUNS ──REPLACE──▶ COMES ──ADMIT──▶ RUNS      another process takes its place, and is a member
 *     COMES ──PAUSE──▶ PAUSES ──KNOWN──▶ COMES     that process has ended too soon
 *     ADDED ──KNOWN──▶ COMES                       all agents know a rank of mlaunch grow
 *     RUNS, COMES ──LEAVE──▶ LEAVES                mlaunch shrink
 *     COMES, PAUSES, ADDED ──NEEDLESS──▶ NEEDLESS  those that it was to join have ended well
 *     each ──END──▶ OVER
 */
#ifndef LAUNCHER_RUN_ELASTIC_LIVES_H
#define LAUNCHER_RUN_ELASTIC_LIVES_H

#include <stdbool.h>
#include <stdint.h>

enum host_life {
    HOST_OPENING,   /* its channel is being opened */
    HOST_CONNECTED, /* its agent is there */
    HOST_PREPARED,  /* and ready to start the ranks */
    HOST_ANNOUNCED, /* the same, and the others are being told of it */
    HOST_FAILED,    /* it cannot take part, and its channel is to end */
    HOST_STARTED,   /* its ranks run */
    HOST_CUT_OFF,   /* … and its agent has lost the coordinator, which may be lost itself */
    HOST_GIVEN_UP,  /* its ranks are members no more, and its agent ends them */
    HOST_DONE,      /* none is left */
    HOST_STAYS,     /* and its agent waits for the next run */
    HOST_GONE,      /* its channel has ended, or it has none yet */
    HOST_MISSING,   /* the same, of one that has failed: a reason not to start the job */
    HOST_LIVES
};

enum host_event {
    HOST_EVENT_HELLO,
    HOST_EVENT_READY,
    HOST_EVENT_ANNOUNCE,
    HOST_EVENT_START,
    HOST_EVENT_CUT,
    HOST_EVENT_MEND, /* there is another coordinator */
    HOST_EVENT_GIVE_UP,
    HOST_EVENT_DONE,
    HOST_EVENT_STAY,
    HOST_EVENT_FAIL,
    HOST_EVENT_END,  /* its channel has ended */
    HOST_EVENT_MISS, /* the same, before the start */
    HOST_EVENT_COME, /* it, or another host in its place, is to come */
    HOST_EVENTS
};

/* What the round does after it. */
enum host_action {
    HOST_STAYS_AS_IT_IS,
    HOST_FORGET_COPY, /* it gets no files of --stage-env any more */
    HOST_KEEP_NOTHING /* its keeper takes no copies of what others keep (--keep 2) */
};

struct host_transition {
    enum host_life life;
    enum host_event event;
    enum host_life next;
    enum host_action action;
};

enum rank_life {
    RANK_RUNS,     /* or is to be started with its host: a member of the job */
    RANK_ADDED,    /* by mlaunch grow, and not all agents know it, so it has not been started */
    RANK_PAUSES,   /* its last process has ended too soon: there is a pause before the next one */
    RANK_COMES,    /* a process of it is to come, or has come, that is no member yet */
    RANK_NEEDLESS, /* the same, and those that it was to join have ended well */
    RANK_LEAVES,   /* mlaunch shrink has taken it out: nothing of its end is a failure */
    RANK_OVER,     /* and no other process takes its place */
    RANK_LIVES
};

enum rank_event {
    RANK_EVENT_KNOWN, /* … and the pause is over */
    RANK_EVENT_PAUSE,
    RANK_EVENT_REPLACE,
    RANK_EVENT_ADMIT,
    RANK_EVENT_LEAVE,
    RANK_EVENT_NEEDLESS,
    RANK_EVENT_END,
    RANK_EVENTS
};

enum rank_action {
    RANK_STAYS_AS_IT_IS,
    RANK_CLOSE_INPUT, /* its process gets no more of standard input */
    RANK_FINISH,      /* the same, and whoever waits for the ranks' ends looks */
    RANK_WELCOME      /* it is a member (again), which is reported */
};

struct rank_transition {
    enum rank_life life;
    enum rank_event event;
    enum rank_life next;
    enum rank_action action;
};

enum coordinator_life {
    COORDINATOR_SERVES,
    COORDINATOR_MOVES /* its host was lost, and another one is to say where the next is */
};

struct live_host {
    enum host_life life;
    bool is_coming; /* while the ranks of others run */
    bool joins;     /* by mlaunch join: it may come again, and no other host in its place */
};

struct live_rank {
    enum rank_life life;
    int host;
    int restarts;     /* how many processes have come after the first */
    int fast;         /* how many in a row have died soon after their start */
    bool is_left_out; /* it is no member of the world */
};

/* What is known of a run's hosts and ranks. The arrays are the owner's; `left` and `coming` are
 * kept by lives_rank(). */
struct lives {
    int least;    /* --elastic MIN; 0: the job does not outlive its ranks */
    int restarts; /* --restarts N, for each rank */
    bool goes_on; /* --on-failure continue */

    struct live_host *hosts;
    struct live_rank *ranks;
    int host_count, size;
    int left;   /* ranks that have not ended */
    int coming; /* those of them that are no members yet */
    int dead;   /* ranks that were lost for good, ever */

    int coordinator_host;
    enum coordinator_life coordinator;
    bool has_met; /* all ranks have called ml_init, and so can continue without some */
};

/* NULL: the event changes nothing in this state, and should not happen. */
const struct host_transition *lives_host_find(enum host_life life, enum host_event event);
const struct rank_transition *lives_rank_find(enum rank_life life, enum rank_event event);

/* The event happens to that host, or rank. Returns what is to be done; *_STAYS_AS_IT_IS also if
 * nothing changes. */
enum host_action lives_host(struct lives *l, int host, enum host_event event);
enum rank_action lives_rank(struct lives *l, int rank, enum rank_event event);

/* Its channel works, or may come to. */
static inline bool lives_host_has_channel(enum host_life life)
{
    return life < HOST_GONE;
}

/* It takes no part in the start, for a reason of its own. */
static inline bool lives_host_has_failed(enum host_life life)
{
    return life == HOST_FAILED || life == HOST_MISSING;
}

/* Its START has not been sent yet, and may be. */
static inline bool lives_host_is_starting(enum host_life life)
{
    return life < HOST_FAILED;
}

/* Its agent has ranks that run, or did when it was last heard. */
static inline bool lives_host_runs(enum host_life life)
{
    return life >= HOST_STARTED && life <= HOST_GIVEN_UP;
}

/* The agent takes part in the run, also once its ranks have ended. */
static inline bool lives_host_takes_part(enum host_life life)
{
    return life >= HOST_STARTED && life <= HOST_DONE;
}

/* Its ranks are some of those with which the job continues. */
static inline bool lives_host_goes_on(enum host_life life)
{
    return life == HOST_STARTED || life == HOST_CUT_OFF;
}

static inline bool lives_rank_is_coming(enum rank_life life)
{
    return life == RANK_ADDED || life == RANK_PAUSES || life == RANK_COMES || life == RANK_NEEDLESS;
}

#endif

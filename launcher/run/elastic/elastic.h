/* SPDX-License-Identifier: MIT */
/*
 * elastic.h: what becomes of a running job when a rank or a host is lost or comes: who is replaced,
 * left out or waited for, whether the job ends, in which order, and after which pause. The rules
 * have no I/O and change nothing: the caller says what is so (lives.h) and what has happened, and
 * gets a list of actions, which it carries out in their order (round/round_elastic.c).
 *
 * mlaunch decides here who is replaced or given up; the coordinator decides who is a member of the
 * next world (coordinator/next_world.h). doc/architecture.md, "The coordinator", draws a host's
 * death with all frames in their order, and which function decides what.
 */
#ifndef LAUNCHER_RUN_ELASTIC_ELASTIC_H
#define LAUNCHER_RUN_ELASTIC_ELASTIC_H

#include "launcher/run/elastic/first_failure.h"
#include "launcher/run/elastic/lives.h"

enum elastic_event_kind {
    ELASTIC_RANK_ENDS, /* a process of the rank, or it could not be started */
    ELASTIC_HOST_LOST, /* its channel has ended while its ranks ran, or it had the coordinator */
    ELASTIC_HOST_GIVEN_UP, /* its agent works, but its ranks can be members no more */
    ELASTIC_HOST_DONE,     /* its ranks have ended, and nothing is left there */
    ELASTIC_HOST_SILENT,   /* its agent does not reach the coordinator */
    ELASTIC_HOST_CLEARED,  /* one that was given up: nothing of the job is left there */
    ELASTIC_HOST_FAILS,    /* one that was to come does not */
    ELASTIC_HOST_READY,    /* one that comes is ready to start its ranks */
    ELASTIC_HOST_RETURNS,  /* an agent speaks up whose host was lost or given up */
    ELASTIC_KEEPER_LOST,   /* the process that took copies of what others keep */
    ELASTIC_GROW,          /* further ranks are asked for */
    ELASTIC_SHRINK,        /* the ranks with `is_asked` are to leave */
    ELASTIC_UNMET,         /* ml_init has failed, because a rank ended before all had called it */
    ELASTIC_REPAIRED,      /* there is a new world, of `count` ranks */
    ELASTIC_STOP,          /* the user, --timeout or a batch system ends the job */
    ELASTIC_EVENTS
};

struct elastic_event {
    enum elastic_event_kind kind;
    int host, rank; /* which the event is about */

    /* ELASTIC_RANK_ENDS */
    enum blame blame;   /* first_failure.h */
    bool by_kill;       /* SIGKILL ended it, which no program does to itself for a lost peer */
    bool was_unstarted; /* its program could not be started */
    int64_t ran_ms;     /* since its start */

    /* ELASTIC_HOST_LOST, _GIVEN_UP, _CLEARED, _FAILS */
    int spare_room;  /* how many ranks the next spare host takes; 0: there is none */
    bool may_return; /* a host that joins: it is just away, and nothing is wrong with it */
    bool is_leaving; /* it was asked to leave, and ends its ranks with the grace */

    const bool *is_asked; /* ELASTIC_SHRINK: for each rank */
    int count;            /* ELASTIC_REPAIRED: its members */
};

enum elastic_act {
    ELASTIC_REPLACE,      /* rank: start another process after `ms` */
    ELASTIC_AWAIT,        /* rank: its place waits for the host that comes */
    ELASTIC_END,          /* rank: it has ended for good */
    ELASTIC_VACATE,       /* rank: tell the agents that nobody takes its place */
    ELASTIC_LEAVE,        /* rank: it is taken out, and ends with the grace */
    ELASTIC_COUNT_DEAD,   /* `number` ranks are lost for good */
    ELASTIC_SAY_GOES_ON,  /* say the loss, and that `number` ranks may go on */
    ELASTIC_SAY_WENT_ON,  /* … have gone on and ended well */
    ELASTIC_SAY_UNMET,    /* … and that not all ranks have called ml_init, so that it fails */
    ELASTIC_SAY_ENDS,     /* … and that the job ends, for `number` ranks are not enough */
    ELASTIC_OPEN_PLACE,   /* host: its place is free for another one, which is to come; with
                         * ELASTIC_LOSS the loss is said with who takes it */
    ELASTIC_SAY_AWAITS,   /* host: say that one that joins with its index takes its place */
    ELASTIC_FORGET,       /* the failure that was the first is none any more */
    ELASTIC_BLAME_HOST,   /* host: it may be the first failure */
    ELASTIC_BLAME_SHRUNK, /* too few ranks are left, `number` */
    ELASTIC_NEEDLESS,     /* all that come are ended, for those that they were to join have */
    ELASTIC_END_JOB,      /* SIGTERM to all ranks, SIGKILL after the grace */
    ELASTIC_TELL_GONE,    /* host: tell the coordinator that it is lost */
    ELASTIC_MOVE,         /* host: it gets the next coordinator */
    ELASTIC_TAKE_SPARE,   /* host: a spare host takes its place */
    ELASTIC_AWAIT_JOIN,   /* host: it may join again, after `ms` */
    ELASTIC_LEAVE_EMPTY,  /* host: nobody takes its place */
    ELASTIC_KILL,         /* host: its agent is to kill its ranks */
    ELASTIC_CUT_LIMIT,    /* host: give it up in `ms`, unless there is another coordinator then */
    ELASTIC_ANNOUNCE,     /* host: tell the others of it, and start its ranks once they know */
    ELASTIC_WAIT,         /* host: it is ready, and waits until there is a coordinator */
    ELASTIC_KEEPERS,      /* host: tell the others that its keeper takes no copies */
    ELASTIC_ADMIT,        /* the ranks that were asked for are added */
    ELASTIC_REFUSE,       /* the request, for `reason` */
    ELASTIC_ACTS
};

enum elastic_reason {
    ELASTIC_NONE,
    ELASTIC_LOSS,     /* what the event's own sentence says */
    ELASTIC_NO_SLOT,  /* the spare host has no slot for the ranks */
    ELASTIC_UNFILLED, /* nobody takes the places */
    ELASTIC_NOT_RUNNING,
    ELASTIC_NOT_MET,    /* not all ranks have called ml_init */
    ELASTIC_HOSTS_COME, /* another host is taking a lost one's place */
    ELASTIC_HAS_ENDED,  /* the rank */
    ELASTIC_IS_LEAVING, /* the rank, already */
    ELASTIC_TOO_FEW     /* `number` would be left */
};

struct elastic_action {
    enum elastic_act act;
    int host, rank; /* the one it is about; the other is -1 */
    int number, ms;
    enum elastic_reason reason;
};

/* How the job is besides its hosts and ranks. */
struct elastic_job {
    bool is_running; /* the ranks run, and nothing has asked them to end */
    bool has_failed; /* a failure is known (first_failure.h) */
};

/* ELASTIC_HOST_LOST, _GIVEN_UP, _CLEARED, _FAILS: how many ranks of the host a spare host would
 * get. */
int elastic_wanted(const struct lives *l, const struct elastic_event *e);

/* The most actions that an event has: ELASTIC_FEW, and more only if it is about many ranks. */
enum { ELASTIC_FEW = 16 };
int elastic_room(const struct lives *l, const struct elastic_event *e);

/* Writes the actions to `out`, which has room for elastic_room() of them, in the order in which
 * they are to be carried out. Returns how many there are. */
int elastic_decide(const struct lives *l, const struct elastic_job *job,
                   const struct elastic_event *e, struct elastic_action *out);

#endif

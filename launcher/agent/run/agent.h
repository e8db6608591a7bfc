/* SPDX-License-Identifier: MIT */
/*
 * agent.h: the worker's state: its process, its connection to the launcher, and one run of a job.
 * Each part of a run has a header in agent/state, and is opened and closed by the file whose name
 * it has: struct job_place by job_place.c.
 *
 *                    RECEIVING      (with --stage, --stage-env)
 *                    ▲       │ last FILE, STAGED
 *                JOB │       ▼
 *     HELLO ──JOB──▶ PREPARING      (until mlaunch-pmix is ready, for programs that need it)
 *                            ▼
 *                    READY ──START──▶ RUNNING ──all gone──▶ DONE ──BYE──▶ exit
 *                                                             ├── the only host ──▶ exit
 *       ▲                                                     └──AGAIN──┐
 *       └───────────────────────────────────────────────────────────────┘ (--restarts)
 *       └───────────────┴───────────────┴── end of channel, guard lost: everything ended ──▶ exit
 */
#ifndef LAUNCHER_AGENT_RUN_AGENT_H
#define LAUNCHER_AGENT_RUN_AGENT_H

#include "launcher/agent/queries/probe_run.h"
#include "launcher/agent/rank/spawn.h"
#include "launcher/agent/state/agent_ranks_state.h"
#include "launcher/agent/state/job_keeper_state.h"
#include "launcher/agent/state/job_place_state.h"
#include "launcher/agent/state/job_report_state.h"
#include "launcher/agent/state/rank_mpi_state.h"
#include "launcher/agent/state/rank_streams_state.h"
#include "launcher/agent/state/ranks_stop_state.h"
#include "launcher/base/machine/late_return_linux.h"
#include "launcher/wire/protocol/frame_stream.h"
#include "launcher/wire/protocol/job_spec.h"

#include <event2/event.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct coordinator_session;
struct copier_child;
struct hook;
struct stack_child;

enum agent_state {
    AGENT_HAS_SAID_HELLO,
    AGENT_IS_RECEIVING,
    AGENT_IS_PREPARING,
    AGENT_IS_READY,
    AGENT_IS_RUNNING,
    AGENT_IS_DONE
};
enum { AGENT_STATES = AGENT_IS_DONE + 1 };

/* The connection to the launcher, and what was heard by it since HELLO. */
struct agent_launcher {
    struct frame_stream *channel;
    bool is_heard;    /* it has sent a frame */
    bool is_paused;   /* it has stopped the ranks, and may be silent */
    int silent_ticks; /* in which it has sent nothing */
    struct late_return late;
};

/* From HELLO to AGAIN or the end (agent_run.h). All members are 0 at HELLO, but for those for which
 * a part says otherwise. */
struct agent_run {
    enum agent_state state;
    bool is_refused;      /* the job is refused: exit once REFUSED has been sent, or if the job was
                               RECEIVING (now DONE), once the launcher has read it and closed */
    bool is_leaving;      /* and the job goes on without it: exit once DONE has been sent */
    json_t *shared;       /* the part of the job that all hosts have, until the host's comes */
    struct job_spec *job; /* NULL before JOB, and once it is refused */
    struct probe_run probe;          /* runs before the job only */
    struct copier_child *copier;     /* for mlaunch sync or --stage-env; or NULL */
    struct stack_child *stack_child; /* answers what is asked of a job that runs; or NULL */
    struct hook *hook;               /* --prolog or --epilog, while it runs; or NULL */
    bool owes_epilog;                /* it is to run once all ranks have ended */
    bool in_epilog;                  /* it runs: only KILL and SIGTERM end it */
    int64_t left_until; /* clock_ms: then what ranks have left is ended (job_finish.c); or 0 */
    struct coordinator_session *coordinator_session;
    char coordinator[64]; /* its address, or "": what job.json is to name */
    uint32_t placed;      /* how many other hosts had this one's place before */
    struct job_place place;
    struct job_keeper keeper;
    struct rank_mpi mpi;
    struct agent_ranks ranks;
    struct rank_outputs output;
    struct ranks_stop stop;
    struct job_report report;
};

struct agent {
    struct event_base *base;
    int guard_fd; /* -1: the guard is gone */
    pid_t guard;
    int exit_status;
    struct spawn_limits limits; /* for the processes that it starts */
    struct event *child_event, *tick_event, *guard_event, *term_event;
    struct event *warn_events[2];         /* SIGUSR1, SIGUSR2 */
    struct event *check_event;            /* job_finish.h */
    struct event *stop_timer;             /* ranks_stop.h */
    struct job_place_ahead ahead;         /* outlives runs: found once */
    struct job_place_directory directory; /* outlives runs, for the next one of the same job */
    struct agent_launcher launcher;
    struct agent_run run;
};

/* Call it after anything that may have ended the job (job_finish.h). */
static inline void agent_check_soon(struct agent *a)
{
    event_active(a->check_event, 0, 0);
}

#endif

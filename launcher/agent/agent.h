/* SPDX-License-Identifier: MIT */
/*
 * agent.h: the worker's state, which its files share: the job, its ranks, and how far all of it is.
 *
 *     HELLO ──JOB──▶ READY ──START──▶ RUNNING ──all gone──▶ DONE ──BYE──▶ exit
 *       └───────────────┴───────────────┴── end of channel, guard lost: everything ended ──▶ exit
 *
 *     a rank:  WAITING ──spawned──▶ RUNNING ──reaped──▶ ENDED ──its output sent──▶ REPORTED
 *                 └──────────────────────── could not be started ────────────────────┘
 */
#ifndef LAUNCHER_AGENT_AGENT_H
#define LAUNCHER_AGENT_AGENT_H

#include "launcher/agent/answer/probe_run.h"
#include "launcher/agent/host/cgroup_linux.h"
#include "launcher/agent/host/job_directory.h"
#include "launcher/agent/rank/rank_environment.h"
#include "launcher/agent/rank/spawn.h"
#include "launcher/agent/rank_input.h"
#include "launcher/agent/rank_output.h"
#include "launcher/agent/stop.h"
#include "launcher/protocol/frame_stream.h"
#include "launcher/protocol/job_message.h"

#include <event2/event.h>
#include <sys/types.h>

struct coordination;
struct event_base;

enum agent_rank_state { RANK_WAITING, RANK_RUNNING, RANK_ENDED, RANK_REPORTED };

struct agent_rank {
    struct agent *agent;
    const struct job_rank *job;
    enum agent_rank_state state;
    pid_t pid;
    int status;        /* waitpid's, from RANK_ENDED on */
    bool is_signalled; /* we had sent it a signal to end it */
    bool is_broken;    /* its runtime had reported that a peer died, */
    char lost[512];    /* in these words */
    struct rank_output out[2];
    struct rank_input in;
};

enum agent_state { AGENT_HAS_SAID_HELLO, AGENT_IS_READY, AGENT_IS_RUNNING, AGENT_IS_DONE };

struct agent {
    struct event_base *base;
    struct frame_stream *channel;
    enum agent_state state;
    int guard_fd; /* -1: the guard is gone */
    pid_t guard;
    int exit_status;
    bool is_refused; /* the job; exit once the launcher has been told */

    struct probe_run probe; /* before the job */
    struct job_message *job;
    char dir[JOB_DIRECTORY_PATH]; /* "" until it is made */
    char cgroup[CGROUP_PATH];     /* "": there is none */
    int cgroup_fd;                /* or -1 */
    char bind_ip[64];
    char coordinator[64]; /* as job.json says */
    char shim[4096];      /* "": nothing is injected */
    char modules[4096];   /* the directory of mlaunch.py; "": as shim */
    char bench[4096];     /* mlaunch-bench's path, if the job names it */
    struct coordination *coordination;
    struct spawn_limits limits;
    cpu_set_t *cpus;                        /* per local rank, or NULL */
    char **cwds;                            /* per app */
    struct rank_environment **environments; /* per app, from START on */

    struct agent_rank *ranks; /* job->rank_count of them */
    int spawned;              /* the first so many have been started, or have failed to */
    int ended;                /* ranks that run no more or never will */
    int unreported;           /* ranks in RANK_ENDED */
    struct rank_output_window window;
    struct stop stop;
    bool is_paused;
    struct event *spawn_event, *child_event, *heartbeat_event, *guard_event, *term_event;
    struct event *check_event; /* done.h */
    int silent_ticks;
};

/* Something has happened after which the job may be over. */
static inline void agent_check_soon(struct agent *a)
{
    event_active(a->check_event, 0, 0);
}

#endif

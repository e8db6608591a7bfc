/* SPDX-License-Identifier: MIT */
/*
 * agent_ranks_state.h: the ranks of this host, and what they are started with.
 *
 *     WAITING ──spawned──▶ RUNNING ──reaped──▶ ENDED ──its output sent──▶ REPORTED
 *         │                   └─failed─▶ HELD ─▲ (mlaunch-pmix is asked)  ▲
 *         └──────────────────── could not be started ─────────────────────┘
 *
 * With --elastic and --restarts REPORTED is not the end: REPLACE makes it WAITING again.
 */
#ifndef LAUNCHER_AGENT_STATE_AGENT_RANKS_STATE_H
#define LAUNCHER_AGENT_STATE_AGENT_RANKS_STATE_H

#include "common/fault.h"
#include "launcher/agent/binding/memory_policy_linux.h"
#include "launcher/agent/state/rank_streams_state.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

struct agent;
struct event;
struct job_rank;
struct rank_environment;

enum agent_rank_state { RANK_WAITING, RANK_RUNNING, RANK_HELD, RANK_ENDED, RANK_REPORTED };

struct agent_rank {
    struct agent *agent;
    const struct job_rank *job;
    char noted[4][80]; /* the beginnings of warnings about it (rank_mpi.c) */
    enum agent_rank_state state;
    pid_t pid;
    int64_t started_ms;  /* clock_ms */
    int status;          /* as waitpid gives it, from RANK_HELD on */
    struct rusage usage; /* from then on, as elapsed_ms is */
    int64_t elapsed_ms;
    int restarts;        /* how many processes were in its place before this one */
    bool is_added;       /* by GROW: MPI's protocols do not know it */
    bool is_undecided;   /* REPORTED: mlaunch is to say whether another process takes its place */
    bool is_signalled;   /* the agent has sent it a signal to end it */
    bool is_broken;      /* its runtime has reported that a peer died */
    char lost[512];      /* the runtime's sentence about that, or "" */
    char unstarted[512]; /* why its program could not be executed in its container, or "" */
    char message[256];   /* the exception that ended a PyTorch program, or "" */
    struct rank_output out[2];
    struct rank_input in;
    int pty;                     /* the rank's end of its terminal, or -1 */
    struct memory_policy memory; /* as the kernel has said it, with --report-bindings */
};

struct agent_ranks {
    struct agent_rank *all; /* job->rank_count of them */
    int spawned;            /* the first this many ranks have been started or failed to start */
    int ended;              /* ranks that no longer run or never will */
    int unreported;         /* ranks in RANK_ENDED */
    int undecided;          /* ranks with is_undecided: the job is not over while there are any */
    struct event *spawn_event;              /* from START on (ranks_start.c) */
    int port;                               /* {port}, from START on */
    char *ibv_devices, *ring_hosts;         /* files for ranks, from READY on; or NULL */
    struct rank_environment **environments; /* per app, from START on at the latest */
    struct fault not_ahead;                 /* why one of these is missing */
};

#endif

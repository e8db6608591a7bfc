/* SPDX-License-Identifier: MIT */
/*
 * agent.h: the worker's state, which its files share: the job, its ranks, and the states of both.
 * The parts of the worker are structs here, so that their headers need not include each other.
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
 *
 *     a rank:  WAITING ──spawned──▶ RUNNING ──reaped──▶ ENDED ──its output sent──▶ REPORTED
 *                 │                      └─failed─▶ HELD ─▲ (mlaunch-pmix is asked)  ▲
 *                 └──────────────────────── could not be started ────────────────────┘
 *
 *     With --elastic and --restarts REPORTED is not the end: REPLACE makes it WAITING again.
 */
#ifndef LAUNCHER_AGENT_RUN_AGENT_H
#define LAUNCHER_AGENT_RUN_AGENT_H

#include "common/net/job_file.h"
#include "launcher/agent/binding/binding.h"
#include "launcher/agent/binding/crowding_linux.h"
#include "launcher/agent/host/cgroup_linux.h"
#include "launcher/agent/host/job_directory.h"
#include "launcher/agent/host/rank_record.h"
#include "launcher/agent/queries/probe_run.h"
#include "launcher/agent/rank/failure_cause_linux.h"
#include "launcher/agent/rank/rank_environment.h"
#include "launcher/agent/rank/received_files.h"
#include "launcher/agent/rank/spawn.h"
#include "launcher/wire/protocol/frame_stream.h"
#include "launcher/wire/protocol/job_spec.h"
#include "launcher/wire/protocol/line_cut.h"

#include <event2/event.h>
#include <sys/resource.h>
#include <sys/types.h>

struct agent_rank;
struct container;
struct coordinator_session;
struct evbuffer;
struct fault;
struct hook;
struct rank_view;
struct stack_child;
struct staged_place;
struct lost_device;
struct mpi_apart;
struct pmi;
struct pmix_helper;

/* rank_input.h */
struct rank_input {
    struct evbuffer *kept; /* NULL: the rank gets no (more) stdin */
    struct event *event;   /* NULL: the rank has not been started */
    int fd;
    bool at_end;      /* the launcher has sent end of file */
    bool is_mid_line; /* the last byte was not a newline */
};

/* rank_output.h: one pipe */
struct rank_output {
    struct agent_rank *rank;
    struct event *event; /* NULL: the pipe is closed */
    int fd;
    uint8_t stream;      /* 1 stdout, 2 stderr */
    size_t due;          /* bytes that were in the pipe when the rank ended: sent before EXITED */
    struct line_cut cut; /* with --output fold: the line that has not ended */
};

/* rank_output.h: all pipes */
struct rank_output_window {
    size_t unacknowledged;
    bool is_full;      /* too many bytes are unacknowledged */
    bool is_backed_up; /* too many bytes wait for the channel */
    bool is_heaped;    /* too many lines wait in the folds */
    bool is_closed;    /* one of the three: no pipe is read */
    int next; /* index of the rank whose pipes are read first on reopening: all take turns */
};

/* ranks_stop.h */
struct ranks_stop {
    struct event *timer;
    bool is_active;
    bool is_hurried;   /* after KILL: does not wait until output has been read */
    bool has_given_up; /* on processes that survive SIGKILL, and on unread output */
    int asked;         /* the last polite signal that the ranks have got; 0: none */
    int fewest;        /* processes that were left at any SIGKILL so far; -1: none was sent */
    int64_t term_at, kill_at, give_up_at; /* clock_ms; term_at -1: done */
};

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

enum agent_state {
    AGENT_HAS_SAID_HELLO,
    AGENT_IS_RECEIVING,
    AGENT_IS_PREPARING,
    AGENT_IS_READY,
    AGENT_IS_RUNNING,
    AGENT_IS_DONE
};
enum { AGENT_STATES = AGENT_IS_DONE + 1 };

struct agent {
    struct event_base *base;
    struct frame_stream *channel;
    enum agent_state state;
    int guard_fd; /* -1: the guard is gone */
    pid_t guard;
    int exit_status;
    bool is_refused;  /* the job is refused: exit once REFUSED has been sent, or if the job was
                         RECEIVING (now DONE), once the launcher has read it and closed */
    bool is_leaving;  /* and the job goes on without it: exit once DONE has been sent */
    json_t *warnings; /* what READY will carry: an array of texts */

    struct probe_run probe;          /* runs before the job only */
    struct copier_child *copier;     /* for mlaunch sync or --stage-env; or NULL */
    struct stack_child *stack_child; /* answers what is asked of a job that runs; or NULL */
    struct lost_device *lost_device; /* NULL: the host has no RDMA */
    json_t *shared; /* the part of the job that all hosts have, until the host's comes; or NULL */
    struct job_spec *job;
    struct job_file here;           /* the members that are the same for every job (ahead) */
    char own_cgroup[CGROUP_PATH];   /* the agent's own, or "" (ahead) */
    struct fault not_installed;     /* why `shim` and `modules` are "" (ahead) */
    char dir[JOB_DIRECTORY_PATH];   /* "" until it is made; after AGAIN that of the last run */
    int locks[JOB_DIRECTORY_LOCKS]; /* by which others know that it is used */
    int64_t touched_ms;             /* clock_ms; when all in it was */
    bool is_guard_removing;         /* the guard removes `dir`, unless it is killed */
    char cgroup[CGROUP_PATH];       /* "": there is none */
    int cgroup_fd;                  /* or -1 */
    char bind_ip[64];
    pid_t keeper;                 /* keeper_child.h; or 0 */
    int keepers;                  /* how many have ended */
    char keeper_address[64];      /* where it listens, or "" */
    uint32_t placed;              /* how many other hosts had this one's place before */
    char next_keeper[256];        /* where that of the next host does, as in job_file.h */
    char coordinator[64];         /* its address, or "": what job.json is to name */
    char shim[4096];              /* "": nothing is injected */
    char modules[4096];           /* the package mlaunch's directory; "": PYTHONPATH is left as it
                                   * is */
    char bench[4096];             /* mlaunch-bench's path, if the job names it */
    struct received_files *files; /* NULL: the job has none for this host */
    struct staged_place *place;   /* --stage-env; or NULL */
    char **staged_programs;       /* per app, where the copy must be named: its; or NULL */
    struct container *container;  /* --container; or NULL */
    struct rank_view *view;       /* --mount and --stage-env; or NULL */
    struct hook *hook;            /* --prolog or --epilog, while it runs; or NULL */
    bool owes_epilog;             /* it is to run once all ranks have ended */
    bool in_epilog;               /* it runs: only KILL and SIGTERM end it */
    struct coordinator_session *coordinator_session;
    struct spawn_limits limits;
    struct failure_cause failure_cause;
    struct binding *bindings;   /* per local rank, or NULL */
    struct machine *machine;    /* what they are parts of, or NULL */
    struct crowding crowding;   /* by all ranks' threads */
    char **cwds;                /* per app */
    bool *serves_pmi;           /* per app: its ranks get a socket for PMI */
    bool *knows_python;         /* per app: it is Python, and which MPI that has was looked up */
    struct pmi *pmi;            /* rank_mpi.h; NULL: no rank does */
    struct mpi_apart *apart;    /* NULL: nothing is said of MPI programs that are apart */
    struct pmix_helper *pmix;   /* NULL: none was started */
    bool needs_pmix;            /* without it the job must not run */
    bool serves_pmix;           /* all ranks are served by it */
    struct pmix_demand *demand; /* which ranks' processes have asked for it; or NULL */
    void (*mpi_done)(struct agent *a, const struct fault *failed); /* once `pmix` is ready */
    void (*mpi_release)(struct agent *a);   /* reap.c's, for ranks in RANK_HELD */
    char segments[JOB_DIRECTORY_PATH + 64]; /* directory for those of MPI's libraries; or "" */
    int port;                               /* {port}, from START on */
    char *ibv_devices, *ring_hosts;         /* files for ranks, from READY on; or NULL */
    struct rank_environment **environments; /* per app, from START on at the latest */
    struct fault not_ahead;                 /* why one of these is missing */

    struct agent_rank *ranks; /* job->rank_count of them */
    int spawned;              /* the first this many ranks have been started or failed to start */
    int ended;                /* ranks that no longer run or never will */
    int unreported;           /* ranks in RANK_ENDED */
    int undecided;            /* ranks with is_undecided: the job is not over while there are any */
    int recorded;             /* ranks whose calls have been sent (job_report_calls) */
    struct rank_record record; /* the next one, while it is open */
    struct rank_output_window window;
    struct line_fold *folds[2]; /* with --output fold, of stdout and stderr; or NULL */
    struct event *fold_timer;
    struct ranks_stop stop;
    int64_t left_until; /* clock_ms: then what ranks have left is ended (job_finish.c); or 0 */
    bool is_paused;
    bool is_heard;         /* the launcher has sent a frame */
    bool is_asked_to_stop; /* the ranks can see that (common/agent_to_rank.h) */
    bool drops_output;     /* after DROP: once no process is left, output is not waited for */
    struct event *spawn_event, *child_event, *tick_event, *guard_event, *term_event;
    struct event *warn_events[2]; /* SIGUSR1, SIGUSR2 */
    struct event *check_event;    /* job_finish.h */
    int silent_ticks;
};

/* Call it after anything that may have ended the job (job_finish.h). */
static inline void agent_check_soon(struct agent *a)
{
    event_active(a->check_event, 0, 0);
}

#endif

/* SPDX-License-Identifier: MIT */
/*
 * job_round_state.h: the state of one run of a job, shared by the job_round_* files. Each includes
 * only those below it:
 *
 *   job_round.c          start, end, and the requests from outside
 *   job_round_frames.c   what the agents send
 *   job_round_hosts.c    hosts that are lost or come while others run (--elastic)
 *   job_round_losses.c   ranks that end; who goes on (--elastic)
 *   job_round_phases.c   the life cycle: which event leads from which state to which
 *   job_round_steps.c    what is done on each of these transitions
 *   escalation.c         the signals that end the ranks, as the user is told of them
 *   round_pause.c        pauses
 *   hang_watch.c         where the ranks are, when they seem to hang
 */
#ifndef LAUNCHER_RUN_ROUND_JOB_ROUND_STATE_H
#define LAUNCHER_RUN_ROUND_JOB_ROUND_STATE_H

#include "launcher/input/plan/plan_growth.h"
#include "launcher/run/hosts/broken_pairs.h"
#include "launcher/run/identity/job_identity.h"
#include "launcher/run/record/clock_offset.h"
#include "launcher/run/round/first_failure.h"
#include "launcher/run/round/job_round_config.h"
#include "launcher/wire/channel/agent_channel.h"
#include "launcher/wire/protocol/agent_report.h"

#include <jansson.h>

struct agent_session;
struct call_log;
struct env_copy;
struct file_feed;
struct hang_watch;
struct keeper_order;
struct progress_line;
struct topology_survey;

enum job_round_state {
    JOB_ROUND_CONNECTING,
    JOB_ROUND_SURVEYING, /* only with the rdma backend (topology_survey.h) */
    JOB_ROUND_PREPARING,
    JOB_ROUND_RUNNING,
    JOB_ROUND_STOPPING,
    JOB_ROUND_LEAVING,
    JOB_ROUND_ENDED,
    JOB_ROUND_STATES,
};

/* How far one host has come. */
enum job_round_member_state {
    MEMBER_OPENING,
    MEMBER_CONNECTED,
    MEMBER_PREPARED,
    MEMBER_STARTED,
    MEMBER_DONE,
    MEMBER_GONE,
};

/* One of the job's hosts. */
struct job_round_member {
    struct job_round *round;
    const struct host *host;
    struct agent_channel *channel; /* the session's; NULL if it could not be opened */
    enum job_round_member_state state;
    bool failed;                  /* before the start */
    enum channel_outlook outlook; /* then: of another try */
    char reason[768];             /* why it failed, a sentence */
    char keeper[64];              /* its agent's for copies, until mlaunch grow has added it */
    char address[64];             /* where SSH reached the host, or "" */
    char *advice;                 /* what to do if its agent is silent, or NULL */
    int status; /* mlaunch's exit status if this host's failure is reported: 125, 126 or 127 */
    struct file_feed *feed;    /* sends the host the files of --stage; NULL: it wants none */
    int ranks_known;           /* by its agent: numbers below */
    size_t unacknowledged;     /* bytes of its OUTPUT without a CREDIT */
    bool is_cut;               /* a NOTE was left out */
    bool is_littered;          /* processes of the job are left there */
    bool stays;                /* its agent waits for the next run */
    bool had_coordinator;      /* or has it: what it says of others' ranks may come late */
    bool is_cut_off;           /* its agent has lost the coordinator, which may be lost itself */
    bool is_arriving;          /* its ranks are newcomers (job_round_hosts.h), not started yet */
    bool is_announced;         /* … and the other hosts know of it */
    struct env_copy *copy;     /* --stage-env, of a host that comes while others run; or NULL */
    int unwired;               /* PLACED with a wiring that its agent has not answered */
    int placed;                /* how many other hosts have taken its place */
    struct event *arrival;     /* opens the channel; NULL until needed */
    bool was_paused;           /* mlaunch, while the channel was being opened */
    struct event *again;       /* … which opens it anew; NULL until needed */
    struct clock_offset clock; /* measured only if its ranks' calls are written */
};

struct job_round_rank {
    int64_t pid;
    bool ended, aborted;
    bool is_left_out;  /* it is no member any more (--elastic) */
    int restarts;      /* how often another process took its place (--elastic --restarts) */
    bool is_coming;    /* … and that is no member yet */
    bool is_unneeded;  /* … and those that it was to join have ended well */
    bool is_added;     /* by mlaunch grow: all its processes are newcomers */
    bool is_unstarted; /* … and not all agents know it yet, so its first has not been started */
    bool is_leaving;   /* mlaunch shrink has taken it out: nothing of its end is a failure */
    int64_t died_ms;   /* when it did last, clock_ms() */
    bool is_closed[2]; /* its stdout and stderr have ended */
};

/* What mlaunch grow asks for on hosts that the job does not have, while these are being reached
 * (round_change.h). Their members are behind those of the plan's hosts. */
struct job_round_growth {
    struct plan *plan; /* the round's, which is to grow; NULL: nothing is asked for */
    struct plan_growth wanted;
    char by[160];
    char failed[1024]; /* a sentence; "": no host has failed */
};

struct job_round {
    struct job_round_config config;
    const struct plan *plan;
    struct job_identity identity;
    enum job_round_state state;
    struct agent_session *session;
    struct job_round_member *members; /* one per host of the plan, and room for others */
    int members_room;
    struct job_round_growth growth;
    bool has_placed;               /* a host is in the place of another */
    struct job_round_rank *ranks;  /* one per rank */
    int ranks_started, ranks_left; /* that have started, that have not ended */
    int coming;                    /* those of the latter that are no members yet */
    int coordinator_host;          /* rank 0's, until --elastic has moved the coordinator */
    bool has_met;                  /* all ranks have met in ml_init (--elastic) */
    bool is_moving;                /* that host is to say where its new coordinator listens */
    int64_t membership;            /* how often the members have changed */
    int64_t generation;            /* … of the ranks' claims of this number */
    bool has_prepared;             /* the hosts were sent JOB, or questions before it */
    char coordinator[96];          /* address, from the READY of rank 0's host */
    bool is_pmix;                  /* a host serves PMIx, so all hosts do that can */
    bool needs_pmix;               /* … and all must */
    unsigned ports_taken;          /* those that {port} cannot be, as all READY say */
    struct progress_line *progress;
    struct hang_watch *hang;
    struct topology_survey *survey; /* NULL: the hosts are not asked about RDMA */
    const char **names;             /* the hosts', for the survey */
    json_t *wiring;                 /* the RDMA matrix, or NULL */
    struct env_copy *copy;          /* --stage-env; or NULL */
    struct keeper_order *keepers;   /* --keep 2: who has copies of what ranks keep; or NULL */
    bool topology_failed;           /* two hosts do not reach each other; one of them has failed */
    struct event *deadline, *escalation, *cut_limit, *broken_limit;
    struct broken_pairs broken; /* hosts that do not reach each other (--elastic) */
    int64_t began_ns;           /* clock_ns() */

    enum stop_cause cause;
    int stop_signal, stop_grace_ms;
    int64_t stop_ms;   /* when STOP was sent, clock_ms() */
    bool is_past_term; /* the ranks have got a SIGTERM since, or get none before SIGKILL */
    bool stop_wanted;
    bool is_asked; /* the job has been asked to stop softly */
    struct first_failure failure;
    int dead;                   /* ranks that have died; the job outlives them with --elastic */
    int64_t dead_ms;            /* the first since the last REPAIRED, clock_ms(); 0: none */
    struct call_log *calls;     /* that the ranks have made last */
    bool has_run;               /* the ranks were started */
    int64_t start_ms;           /* then, clock_ms() */
    int status;                 /* mlaunch's exit status if they never were */
    struct done_report crowded; /* the host whose ranks had the most threads too many */
    const char *crowded_host;

    bool is_advancing; /* inside job_round_phases_advance */
    bool is_hurried;   /* after job_round_kill or job_round_drop_output: output is not waited for */
    bool paused;
    int64_t paused_ms; /* when that began, clock_ms() */
};

/* The ranks run, and nothing has asked them to end. */
static inline bool job_round_state_is_running(const struct job_round *r)
{
    return r->state == JOB_ROUND_RUNNING && !r->stop_wanted;
}

/* The host's agent takes part in the run, also once its ranks have ended. */
static inline bool job_round_member_is_there(const struct job_round_member *m)
{
    return m->state == MEMBER_STARTED || m->state == MEMBER_DONE;
}

/* How many members there are: the hosts of the plan, and those that are to come. */
static inline int job_round_members(const struct job_round *r)
{
    return r->plan->host_count + r->growth.wanted.host_count;
}

#endif

/* SPDX-License-Identifier: MIT */
/*
 * job_round_state.h: the state of one run of a job, shared by the files of this room. Each includes
 * only those below it:
 *
 *   job_round.c          start, end, and the requests from outside
 *   job_round_frames.c   what the agents send, by the state of their host
 *   rank_frames.c        … of their ranks
 *   round_change.c       mlaunch grow and shrink
 *   host_arrival.c       a host that comes while others run (--elastic)
 *   host_reach.c         hosts that do not reach each other, or the coordinator (--elastic)
 *   round_elastic.c      what elastic_decide() wants to be done, in its order
 *   job_round_phases.c   the life cycle: which event leads from which state to which
 *   job_round_steps.c    what is done on each of these transitions
 *   round_lives.c        the states of hosts and ranks (elastic/lives.h), and what follows
 *   escalation.c         the signals that end the ranks, as the user is told of them
 *   round_pause.c        pauses
 *   hang_watch.c         where the ranks are, when they seem to hang
 */
#ifndef LAUNCHER_RUN_STATE_JOB_ROUND_STATE_H
#define LAUNCHER_RUN_STATE_JOB_ROUND_STATE_H

#include "launcher/input/plan/plan_growth.h"
#include "launcher/run/elastic/broken_pairs.h"
#include "launcher/run/elastic/first_failure.h"
#include "launcher/run/elastic/lives.h"
#include "launcher/run/identity/job_identity.h"
#include "launcher/run/record/clock_offset.h"
#include "launcher/run/state/job_round_config.h"
#include "launcher/wire/channel/agent_channel.h"
#include "launcher/wire/protocol/agent_report.h"

#include <jansson.h>

struct agent_session;
struct call_log;
struct env_copy;
struct file_feed;
struct hang_watch;
struct keeper_order;
struct round_driver;
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

/* One of the job's hosts. Its state is in `facts` (lives.h). */
struct job_round_host {
    struct job_round *round;
    struct live_host *facts; /* the round's, of this host */
    const struct host *host;
    struct agent_channel *channel; /* the session's; NULL if it could not be opened */
    enum channel_outlook outlook;  /* HOST_FAILED, HOST_MISSING: of another try */
    char reason[768];              /* why it failed or was lost: what follows its name */
    int status;                    /* mlaunch's, if this host's failure is reported */
    char keeper[64];               /* its agent's for copies, until mlaunch grow has added it */
    char address[64];              /* where SSH reached the host, or "" */
    char *advice;                  /* what to do if its agent is silent, or NULL */
    struct file_feed *feed;        /* sends the host the files of --stage; NULL: it wants none */
    struct env_copy *copy;         /* --stage-env, of a host that comes while others run; or NULL */
    int ranks_known;               /* by its agent: numbers below */
    size_t unacknowledged;         /* bytes of its OUTPUT without a CREDIT */
    int unwired;                   /* PLACED with a wiring that its agent has not answered */
    int placed;                    /* how many other hosts had its place before */
    bool is_cut;                   /* a NOTE was left out */
    bool is_littered;              /* processes of the job are left there */
    bool had_coordinator;          /* or has it: what it says of others' ranks may come late */
    int64_t opened_ms;             /* when its channel was first opened, clock_ms() */
    struct event *arrival;         /* opens the channel; NULL until needed */
    struct event *again;           /* opens it anew after a pause of mlaunch's; NULL until needed */
    struct clock_offset clock;     /* measured only if its ranks' calls are written */
};

/* One rank. Its state is in the round's lives.ranks. */
struct job_round_rank {
    int64_t pid;
    int64_t died_ms;    /* when it did last, clock_ms() */
    int64_t replace_ms; /* when its next process is to be started, clock_ms(); 0: none is */
    bool is_aborted;    /* its ml_abort has been reported */
    bool is_closed[2];  /* its stdout and stderr have ended */
};

/* What mlaunch grow asks for on hosts that the job does not have, while these are being reached
 * (round_change.h). They are behind those of the plan in job_round's hosts. */
struct job_round_growth {
    struct plan *plan; /* the round's, which is to grow; NULL: nothing is asked for */
    struct plan_growth wanted;
    char by[160];
    char failed[1024]; /* a sentence; "": no host has failed */
};

/* What the hosts have agreed on by their READY. */
struct job_round_agreed {
    char coordinator[96]; /* its address, from rank 0's host, or from the one that has it since */
    enum { PMIX_IS_ABSENT, PMIX_IS_SERVED, PMIX_IS_NEEDED } pmix; /* by a host, so by all */
    unsigned ports_taken;                                         /* those that {port} cannot be */
};

/* How the hosts are wired for RDMA. */
struct job_round_wiring {
    struct topology_survey *survey; /* NULL: the hosts are not asked about RDMA */
    const char **names;             /* the hosts', for the survey */
    json_t *table;                  /* or NULL */
    bool has_failed;                /* two hosts do not reach each other; one of them has failed */
};

/* The ranks' world, which changes (--elastic). */
struct job_round_world {
    int64_t membership;           /* how often its members have changed */
    int64_t generation;           /* … of the ranks' claims of this number */
    int64_t dead_ms;              /* the first death since the last REPAIRED, clock_ms(); or 0 */
    struct keeper_order *keepers; /* --keep 2: who has copies of what ranks keep; or NULL */
    struct broken_pairs broken;   /* hosts that do not reach each other */
    struct event *cut_limit, *broken_limit, *replace_timer;
};

/* Why and how the run ends, before its ranks have ended by themselves. */
struct job_round_stop {
    bool is_wanted;
    enum stop_cause cause;
    int signal, grace_ms;
    int64_t sent_ms;          /* when STOP was, clock_ms() */
    struct event *escalation; /* the next signal */
    enum {
        STOP_TERM_IS_DUE,
        STOP_KILL_IS_DUE,
        STOP_IS_HURRIED
    } step; /* the last: after
                                                                        * job_round_kill or
                                                                        * job_round_drop_output */
};

/* The host whose ranks had the most threads too many. */
struct job_round_crowd {
    struct done_report report;
    const char *host;
};

/* When things have happened, clock_ms(); 0: they have not. */
struct job_round_times {
    int64_t began_ns;   /* clock_ns() */
    int64_t start_ms;   /* the ranks were started */
    int64_t paused_ms;  /* mlaunch is paused since */
    int64_t resumed_ms; /* it last went on */
};

struct job_round {
    struct job_round_config config;
    const struct round_driver *driver; /* what follows from what happens to a host */
    const struct plan *plan;
    struct job_identity identity;
    enum job_round_state state;
    struct agent_session *session;
    struct lives lives;
    struct job_round_host *hosts; /* one per host of the plan, and room for others */
    int hosts_room;
    struct job_round_rank *ranks; /* one per rank, and room for others */
    int ranks_began;              /* those of the start; the others are by mlaunch grow */
    int ranks_started;            /* that have; -1: all of the start have, and that was said */
    struct job_round_growth growth;
    struct job_round_agreed agreed;
    struct job_round_wiring wiring;
    struct job_round_world world;
    struct job_round_stop stop;
    struct first_failure failure;
    struct progress_line *progress;
    struct hang_watch *hang;
    struct env_copy *copy;  /* --stage-env; or NULL */
    struct call_log *calls; /* that the ranks have made last */
    struct event *deadline; /* the state's */
    struct job_round_times at;
    int status; /* mlaunch's exit status if the ranks were never started */
    struct job_round_crowd crowd;
    bool is_asked;     /* the job has been asked to stop softly */
    bool is_advancing; /* inside job_round_phases_advance */
};

/* The ranks run, and nothing has asked them to end. */
static inline bool job_round_state_is_running(const struct job_round *r)
{
    return r->state == JOB_ROUND_RUNNING && !r->stop.is_wanted;
}

/* How many hosts there are: those of the plan, and those that are to come. */
static inline int job_round_state_hosts(const struct job_round *r)
{
    return r->plan->where->host_count + r->growth.wanted.host_count;
}

static inline bool job_round_state_is_on(const struct job_round *r, int rank,
                                         const struct job_round_host *h)
{
    return &r->hosts[r->lives.ranks[rank].host] == h;
}

#endif

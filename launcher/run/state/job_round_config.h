/* SPDX-License-Identifier: MIT */
/* job_round_config.h: what the runs of a job share, and why a run may be ended from outside. */
#ifndef LAUNCHER_RUN_STATE_JOB_ROUND_CONFIG_H
#define LAUNCHER_RUN_STATE_JOB_ROUND_CONFIG_H

#include "launcher/input/plan/plan.h"

struct agent_session;
struct channel_config;
struct event_base;
struct events_file;
struct input;
struct output;
struct rank_summary;
struct question_door;
struct recording;

/* Who is told of each rank's end, if the hosts are independent: none waits for another, and what
 * fails is a result. Without the library alone, for ranks that need no other. */
struct rank_results {
    /* Once for each rank, on the loop. `status`: mlaunch's exit status if it were the only one.
     * What that does not say has been said by output_say_of(). */
    void (*on_end)(int rank, int status, void *arg);
    void *arg;
};

/* Borrowed: everything in it must outlive the run. */
struct job_round_config {
    struct event_base *base;
    const struct plan *plan;
    const struct channel_config *channel;
    struct output *output;
    struct input *input;
    enum stdin_mode stdin_mode;
    struct events_file *events;
    const struct rank_results *results; /* NULL: the first failure ends the job */
    struct rank_summary *summary;       /* or NULL */
    struct recording *recording;        /* or NULL */
    struct question_door *door;         /* by which others ask the agents; or NULL */
    const char *job;                    /* the job's id */
    /* NULL: no agent stays. Otherwise the agents that the run before has left, or NULL, and after
     * the end of a run that has failed those that this one leaves. */
    struct agent_session **staying;
    int restart;                   /* how many runs came before */
    void (*on_started)(void *arg); /* called once, on the loop: all ranks have started */
    /* Host `host` was lost, and the others run; `why` follows its name in a sentence. True: the
     * plan has another host in its place. NULL: there is none. */
    bool (*on_host_lost)(int host, const char *why, void *arg);
    /* The hosts that round_change_grow() was to reach have come, and `first` is the first rank of
     * theirs; or not, which is -1, and `why` is a sentence. NULL: none is ever asked for. */
    void (*on_hosts_came)(int first, const char *why, void *arg);
    /* An agent has been asked to stop the job softly; text: by whom. */
    void (*on_asked)(const char *text, void *arg);
    /* On the loop: a rank has been started, or will not run again. */
    void (*on_rank_changed)(void *arg);
    /* Called once, on the loop: the run is over. It may be destroyed after the loop has
     * returned. */
    void (*on_end)(void *arg);
    void *arg;
};

enum stop_cause {
    STOP_NONE,
    STOP_SIGNAL,
    STOP_SLURM, /* a signal that Slurm has sent to mlaunch, and sends to agents and ranks */
    STOP_TIMEOUT,
    STOP_READER_GONE,
    STOP_OUTPUT_FAILED
};

#endif

/* SPDX-License-Identifier: MIT */
/*
 * job_round.h: one run of a job, from the first connection to the last agent's end.
 * job_round_phases.c draws its life cycle. All calls on the loop's thread.
 */
#ifndef LAUNCHER_RUN_ROUND_JOB_ROUND_H
#define LAUNCHER_RUN_ROUND_JOB_ROUND_H

#include "launcher/run/state/job_round_config.h"
#include "launcher/run/stdio/terminal.h"
#include "launcher/wire/channel/agent_channel.h"

struct job_round;

/* How a run ended. */
struct job_round_result {
    bool has_failed;              /* by itself: neither well, nor ended from outside */
    bool has_run;                 /* the ranks were started */
    bool host_failed;             /* what failed was a host, not a rank */
    bool topology_failed;         /* … by RDMA, to another one: either may be at fault */
    int64_t membership;           /* how often the members have changed (--elastic) */
    int members;                  /* ranks in the last world */
    int64_t ran_ms;               /* since the ranks were started; 0: they never were */
    int status;                   /* mlaunch's exit status */
    enum channel_outlook outlook; /* if it has failed: for another run */
};

/* Connects to all hosts of the plan; the rest happens on the loop. A host that cannot be reached is
 * reported by the run's end, not here. ML_ERR_SYSTEM, ML_ERR_MEMORY. */
int job_round_start(struct job_round **out, const struct job_round_config *config,
                    struct fault *why);
void job_round_destroy(struct job_round *r); /* takes NULL */

/* Valid after on_end. */
void job_round_result(const struct job_round *r, struct job_round_result *out);

/* Valid after on_end: true if the ranks were never started, and host `index` of the plan is a
 * reason. */
bool job_round_host_failed(const struct job_round *r, int index);

/* Call it after on_end and output_finish(). It says which failure ended the run, with the last
 * words of the rank unless they are just above; nothing if none did, or if the run was ended from
 * outside. */
void job_round_report(const struct job_round *r);

/* Ends the job: the ranks get `signal` at once, SIGTERM after half of the plan's grace period and
 * SIGKILL at its end. Only the first call has an effect. */
void job_round_stop(struct job_round *r, enum stop_cause cause, int signal);
/* An agent has said that Slurm ends the job, or job_round_stop() has. */
bool job_round_is_ended_by_slurm(const struct job_round *r);
/* Reports where the ranks are, if they run, and then calls `done`: within some seconds, perhaps at
 * once, and not at all if the job is stopped meanwhile or ends. */
void job_round_report_stacks(struct job_round *r, void (*done)(void *arg), void *arg);
/* Restarts the clocks that watch for silent agents, after mlaunch itself could not listen. */
void job_round_reset_silence(struct job_round *r);
void job_round_kill(
    struct job_round *r); /* a run that is being stopped: SIGKILL to all ranks, now */
/* A run that is being stopped: what the ranks have written is not waited for. */
void job_round_drop_output(struct job_round *r);
void job_round_give_up(
    struct job_round *r); /* stops waiting for the ranks, or for the agents' end */

void job_round_signal(struct job_round *r, int signal); /* passes it on to the ranks */
/* Tells the ranks that run that the job has been asked to stop (soft_stop.h). */
void job_round_ask_stop(struct job_round *r);
/* Whether ranks of it run, and nobody has ended them. */
bool job_round_is_running(const struct job_round *r);
/* To one rank alone. False: it does not run. */
bool job_round_signal_rank(struct job_round *r, int rank, int signal);
/* The pid that the rank has on its host; 0: it has not been started. */
int64_t job_round_rank_pid(const struct job_round *r, int rank);
/* Whether another process is to take the rank's place. */
bool job_round_rank_comes(const struct job_round *r, int rank);
/* Whether a host with this name runs ranks. */
bool job_round_has_host(const struct job_round *r, const char *host);
/* Ends the channel to its agent, as if the network had; `why`: the reason for the report. */
void job_round_cut(struct job_round *r, const char *host, const char *why);

/* Passes `size` bytes of standard input on to a rank, or with INPUT_ALL to all; 0: end of file. */
void job_round_on_stdin(struct job_round *r, int rank, const void *bytes, size_t size);
/* The terminal of --pty has this size now. */
void job_round_on_resize(struct job_round *r, struct terminal_size size);
/* Allows the agent of `host`, an index of the plan, `bytes` more of OUTPUT. */
void job_round_on_credit(struct job_round *r, int host, uint32_t bytes);

#endif

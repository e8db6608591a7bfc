/* SPDX-License-Identifier: MIT */
/*
 * attempt.h: one run of a job, from the first connection to the last agent's end. attempt_phases.c
 * draws its life cycle. All calls on the loop's thread.
 */
#ifndef LAUNCHER_RUN_ATTEMPT_ATTEMPT_H
#define LAUNCHER_RUN_ATTEMPT_ATTEMPT_H

#include "launcher/run/attempt/attempt_config.h"
#include "launcher/run/stdio/terminal.h"

struct attempt;

/* How a run ended. */
struct attempt_result {
    bool has_failed;  /* by itself: neither well, nor ended from outside */
    bool has_run;     /* the ranks were started */
    bool host_failed; /* what failed was a host, not a rank */
    int64_t ran_ms;   /* since the ranks were started; 0: they never were */
    int status;       /* mlaunch's exit status */
};

/* Connects to all hosts of the plan; the rest happens on the loop. A host that cannot be reached is
 * reported by the run's end, not here. ML_ERR_SYSTEM, ML_ERR_MEMORY. */
int attempt_start(struct attempt **out, const struct attempt_config *config, struct fault *why);
void attempt_destroy(struct attempt *a); /* takes NULL */

/* mlaunch's exit status after a run was ended for this cause; signal: for STOP_SIGNAL. */
int attempt_stop_status(enum stop_cause cause, int signal);

/* Valid after on_end. */
void attempt_result(const struct attempt *a, struct attempt_result *out);

/* Valid after on_end: true if the ranks were never started, and host `index` of the plan is a
 * reason. */
bool attempt_host_failed(const struct attempt *a, int index);
/* Valid after on_end: true if that host failed because it and another one do not reach each other
 * over RDMA, so that either may be at fault. */
bool attempt_wiring_failed(const struct attempt *a);

/* To be called after on_end, and after output_finish(): says which failure ended the run, with the
 * last words of the rank unless they stand just above; nothing if none did, or if the run was ended
 * from outside. */
void attempt_report(const struct attempt *a);

/* Ends the job: the ranks get `signal` at once, SIGTERM after half of the plan's grace period and
 * SIGKILL at its end. Only the first call has an effect. */
void attempt_stop(struct attempt *a, enum stop_cause cause, int signal);
/* Reports where the ranks are, if they run, and then calls `done`: within some seconds, perhaps at
 * once, and not at all if the job is stopped meanwhile or ends. */
void attempt_look(struct attempt *a, void (*done)(void *arg), void *arg);
void attempt_kill(struct attempt *a); /* a run that is being stopped: SIGKILL to all ranks, now */
/* A run that is being stopped: what the ranks have written is not waited for. */
void attempt_drop_output(struct attempt *a);
void attempt_give_up(struct attempt *a); /* stops waiting for the ranks, or for the agents' end */

void attempt_signal(struct attempt *a, int signal); /* passes it on to the ranks */
/* To one rank alone. False: it does not run. */
bool attempt_signal_rank(struct attempt *a, int rank, int signal);
/* The pid that the rank has on its host; 0: it has not been started. */
int64_t attempt_rank_pid(const struct attempt *a, int rank);
/* Whether a host with this name runs ranks. */
bool attempt_has_host(const struct attempt *a, const char *host);
/* Ends the channel to its agent, as if the network had; `why`: the reason for the report. */
void attempt_cut(struct attempt *a, const char *host, const char *why);

/* Passes `size` bytes of standard input on to a rank; 0: end of file. */
void attempt_on_stdin(struct attempt *a, int rank, const void *bytes, size_t size);
/* The terminal of --pty has this size now. */
void attempt_on_resize(struct attempt *a, struct terminal_size size);
/* Allows the agent of `host`, an index of the plan, so many more bytes of OUTPUT. */
void attempt_on_credit(struct attempt *a, int host, uint32_t bytes);

#endif

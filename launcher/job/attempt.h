/* SPDX-License-Identifier: MIT */
/* attempt.h: one run of a job, from the first connection to the last agent's end (attempt_phases.c
 * draws it). */
#ifndef LAUNCHER_JOB_ATTEMPT_H
#define LAUNCHER_JOB_ATTEMPT_H

#include "launcher/channel/channel.h"
#include "launcher/job/events_file.h"
#include "launcher/job/job_identity.h"
#include "launcher/stdio/input.h"
#include "launcher/stdio/output.h"

#include <stdbool.h>

struct event_base;
struct attempt;

/* What the runs of a job share; all of it outlives them. */
struct attempt_config {
    struct event_base *base;
    const struct plan *plan;
    const struct channel_config *channel;
    struct output *output;
    struct input *input;
    enum stdin_mode stdin_mode;
    struct events_file *events;
    void (*on_end)(
        void *arg); /* on the loop: the run is over; it may be destroyed after the loop */
    void *arg;
};

/* Why a run was ended from outside. */
enum stop_cause { STOP_NONE, STOP_SIGNAL, STOP_TIMEOUT, STOP_READER_GONE, STOP_OUTPUT_FAILED };

/* How a run ended. */
struct attempt_result {
    bool has_run;            /* the ranks were started */
    bool is_worth_a_restart; /* a rank or a host failed, after the start, by itself */
    int status;              /* mlaunch's */
    char job[JOB_ID_SIZE];
};

int attempt_start(struct attempt **out, const struct attempt_config *config, struct fault *why);
void attempt_destroy(struct attempt *a); /* takes NULL */
void attempt_result(const struct attempt *a, struct attempt_result *out);

/* Ends the job: `signal` to the ranks, SIGTERM at half the grace, SIGKILL at its end. A second
 * time: nothing changes. */
void attempt_stop(struct attempt *a, enum stop_cause cause, int signal);
void attempt_kill(struct attempt *a);    /* SIGKILL to all, now */
void attempt_give_up(struct attempt *a); /* waits for nobody any more */

void attempt_signal(struct attempt *a, int signal); /* passed on to the ranks */
/* Stops the ranks and lets the agents expect silence; on_paused when all know. */
void attempt_pulse_pause(struct attempt *a, void (*on_paused)(void *arg), void *arg);
void attempt_pulse_resume(struct attempt *a);
/* Time has passed in which nothing could be heard. */
void attempt_pulse_reset_silence(struct attempt *a);

void attempt_on_stdin(struct attempt *a, int rank, const void *bytes, size_t size);
void attempt_on_credit(struct attempt *a, int host, uint32_t bytes);

#endif

/* SPDX-License-Identifier: MIT */
/* attempt_state.h: the inside of a run, shared by attempt.c (its beginning and end, and what comes from
 * outside), attempt_frames.c (what the agents say), attempt_phases.c (its life cycle), attempt_steps.c (what
 * is done at each step) and attempt_pulse.c (heartbeats). */
#ifndef LAUNCHER_JOB_ATTEMPT_STATE_H
#define LAUNCHER_JOB_ATTEMPT_STATE_H

#include "launcher/channel/agent_channel.h"
#include "launcher/job/attempt.h"
#include "launcher/job/first_failure.h"
#include "launcher/job/job_identity.h"
#include "launcher/stdio/progress_line.h"
#include "launcher/wiring/wiring_survey.h"

enum attempt_state {
    ATTEMPT_CONNECTING,
    ATTEMPT_LOOKING, /* these two only with backend rdma (wiring_survey.h) */
    ATTEMPT_TRYING,
    ATTEMPT_PREPARING,
    ATTEMPT_RUNNING,
    ATTEMPT_STOPPING,
    ATTEMPT_LEAVING,
    ATTEMPT_ENDED,
    ATTEMPT_STATES,
};

/* How far one host has come. */
enum attempt_member_state {
    MEMBER_OPENING,
    MEMBER_CONNECTED,
    MEMBER_PREPARED,
    MEMBER_STARTED,
    MEMBER_DONE,
    MEMBER_GONE,
};

struct attempt_member {
    struct attempt *attempt;
    const struct host *host;
    struct agent_channel *channel;
    enum attempt_member_state state;
    bool failed;      /* before the start */
    char reason[768]; /* why */
    char address[64]; /* where SSH reached it, or "" */
    int status;       /* for mlaunch, if it refused: 125, 126, 127 */
    int rounds;       /* of the wiring's questions, answered */
    int pings;        /* PONGs that are still to come */
};

struct attempt_rank {
    int64_t pid;
    bool ended;
};

struct attempt {
    struct attempt_config config;
    const struct plan *plan;
    struct job_identity identity;
    enum attempt_state state;
    struct attempt_member *members; /* host_count */
    struct attempt_rank *ranks;     /* size */
    int ranks_left;
    char coordinator[96];
    struct progress_line *progress;
    struct wiring_survey *survey; /* NULL: nobody is asked */
    const char **names;           /* the hosts', for it */
    json_t *wiring;               /* the rdma matrix, or NULL */
    struct event *heartbeat, *deadline, *pause_limit;
    int64_t beat_ms; /* when the heartbeat last came */

    enum stop_cause cause;
    int stop_signal, stop_grace_ms;
    bool stop_wanted;
    struct first_failure failure;
    bool failure_told;
    bool has_run;
    int status; /* of a job that never ran */

    bool is_advancing;
    bool is_hurried; /* attempt_kill: output that nobody reads is not waited for */
    bool paused;
    void (*on_paused)(void *arg);
    void *paused_arg;
};

#endif

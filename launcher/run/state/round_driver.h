/* SPDX-License-Identifier: MIT */
/*
 * round_driver.h: what follows in a run from what happens to a host. There are two drivers: hosts
 * that run a job together (round/together.h), and hosts that are independent of each other
 * (round/independent.h). r: the round; h: one of its hosts, whose state is the new one.
 */
#ifndef LAUNCHER_RUN_STATE_ROUND_DRIVER_H
#define LAUNCHER_RUN_STATE_ROUND_DRIVER_H

#include "launcher/run/state/job_round_state.h"

struct round_driver {
    /* The run begins, before any host is reached. */
    int (*begin)(struct job_round *r, struct fault *why);
    int (*on_hello)(struct job_round *r, struct job_round_host *h, struct fault *why);
    /* The host may get its files and its copy now. */
    bool (*is_preparing)(const struct job_round *r, const struct job_round_host *h);
    void (*on_ready)(struct job_round *r, struct job_round_host *h);
    /* Before its START: it cannot take part, for h->reason. */
    void (*on_refused)(struct job_round *r, struct job_round_host *h);
    void (*on_exited)(struct job_round *r, struct job_round_host *h, const struct exited_report *e);
    /* After it: its agent still works, but can no longer supervise its ranks; is_killed: `mlaunch
     * kill` was used. */
    void (*on_lost)(struct job_round *r, struct job_round_host *h, const struct lost_report *lost,
                    bool is_killed);
    void (*on_done)(struct job_round *r, struct job_round_host *h);
    /* Its channel has ended, after all hosts were prepared; `before`: its state then. */
    void (*on_end)(struct job_round *r, struct job_round_host *h, enum host_life before,
                   const char *text);
    /* The run is over. */
    void (*report)(const struct job_round *r);
};

#endif

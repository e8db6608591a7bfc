/* SPDX-License-Identifier: MIT */
/*
 * restarts.h: `--restarts N`: whether a job is started again after a run, and after which pause.
 *
 * Each run is a try. A run in which a rank has failed is followed by the next one at once; but if
 * ranks fail soon after the start several times in a row, there are pauses, which grow: a program
 * that cannot start, because a file or a service is missing, would use up all tries in a moment.
 * After a host was lost, or could not be reached, there is a pause, which grows with each such run
 * in a row: a host that is rebooted comes back after a while.
 */
#ifndef LAUNCHER_RUN_ELASTIC_RESTARTS_H
#define LAUNCHER_RUN_ELASTIC_RESTARTS_H

#include <stdbool.h>
#include <stdint.h>

enum {
    RESTARTS_HEALTHY_MS = 600000, /* ranks that have run for so long give all tries back */
    RESTARTS_PAUSE_MS = 1000,     /* the first pause; each further one is twice as long */
    RESTARTS_PAUSE_MOST_MS = 30000,
    RESTARTS_FAST_MS = 10000, /* a rank that fails earlier may be one that cannot start */
};

/* Begins as {.most = N}. */
struct restarts {
    int most;
    int used;         /* since the job last ran well */
    int count;        /* in all; what ranks find as MLAUNCH_RESTART */
    int hosts_failed; /* runs in a row */
    int ranks_failed; /* fast runs in a row */
};

/* A run has failed. ran_ms: how long its ranks have run, 0 if it was never started. host_failed: a
 * host was the cause, not a rank. False: no try is left. Otherwise a try is taken, and the next run
 * is to begin after *pause_ms. */
bool restarts_take(struct restarts *r, int64_t ran_ms, bool host_failed, int *pause_ms);

/* The pause before the n-th try in a row, from 1 on; 0: none. */
int restarts_pause_ms(int n);

#endif

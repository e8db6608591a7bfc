/* SPDX-License-Identifier: MIT */
/* pair_run.h: traffic between pairs of hosts, each by a job of `mlaunch bench` with two ranks. */
#ifndef LAUNCHER_VERIFY_PAIR_RUN_H
#define LAUNCHER_VERIFY_PAIR_RUN_H

#include "launcher/query/query_command.h"

#include <sys/types.h>

struct pair_run {
    int a, b; /* hosts, set by the caller */
    /* Filled in. */
    double us;        /* the median time of a message */
    double gigabytes; /* per second */
    char backend[8];
    char error[256]; /* why there are no figures; or "" */
    pid_t pid;
    int out, err; /* files in memory: what it has written */
};

/* Runs one measurement, `words` (NULL-terminated: "lat", "--sizes", "8"), between all pairs at
 * once, each for at most 30 s. ML_ERR_MEMORY, ML_ERR_SYSTEM: none was started. */
int pair_run_all(struct pair_run *runs, size_t count, const struct query_command *c,
                 const char *const *words, struct fault *why);

#endif

/* SPDX-License-Identifier: MIT */
/* pair_run.h: traffic between pairs of hosts, each by a job of `mlaunch bench link`. */
#ifndef LAUNCHER_TOOLS_VERIFY_PAIR_RUN_H
#define LAUNCHER_TOOLS_VERIFY_PAIR_RUN_H

#include "common/rdma_choice.h"
#include "launcher/ask/query_command.h"

#include <sys/types.h>

enum { PAIR_PORT = 64 };

/* What was measured on one rail. */
struct pair_rail {
    int rail;                 /* from 0; -1: the pair has one way alone */
    char ports[2][PAIR_PORT]; /* at a and b: "mlx5_0" or "mlx5_0:2"; or "" */
    double us, p99_us;        /* a short message: the median, and what 1 % exceed */
    double there, back, both; /* long messages: GB/s */
};

struct pair_run {
    int a, b;                    /* hosts, set by the caller */
    const char *backend, *bytes; /* for long messages: "tcp", "256K" */
    /* Filled in. */
    struct pair_rail rails[RDMA_RAILS + 1];
    int count;
    long long errors; /* bytes that arrived wrong */
    char error[256];  /* why there are no figures; or "" */
    pid_t pid;
    int out, err; /* files in memory: what it has written */
};

/* Measures between all pairs at once, each for at most 30 s. ML_ERR_MEMORY, ML_ERR_SYSTEM: none was
 * started. */
int pair_run_all(struct pair_run *runs, size_t count, const struct query_command *c,
                 struct fault *why);

#endif

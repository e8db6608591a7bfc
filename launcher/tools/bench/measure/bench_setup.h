/* SPDX-License-Identifier: MIT */
/* bench_setup.h: with what a bench was measured: ranks, hosts, the path between ranks, memory,
 * algorithm, version and date. All reports hold it, so that two files of results can be told
 * apart. */
#ifndef LAUNCHER_TOOLS_BENCH_MEASURE_BENCH_SETUP_H
#define LAUNCHER_TOOLS_BENCH_MEASURE_BENCH_SETUP_H

#include "launcher/tools/bench/command/bench_options.h"

struct bench_host {
    char *name; /* owned */
    int ranks;
};

struct bench_setup {
    int ranks, host_count;
    struct bench_host *hosts; /* owned; NULL before bench_setup_add_hosts() */
    char backend[8];          /* "shm" if all ranks share memory, whatever the job's backend */
    bool local_net;           /* ranks of one host also use the network between them */
    bool secure;
    const char *memory;  /* "plain", "alloc" or "cuda" */
    char *algorithm;     /* owned: the operation's part of MLAUNCH_ALGO, or "auto" */
    const char *version; /* ml_version()'s */
    char date[24];       /* "2026-11-22T12:53:36Z" */
    char node[72];       /* the system's name of this host, if it is localhost in the job; or "" */
};

/* Reads what the job's directory and the environment say. The job need not have been joined. *out
 * is set on success only; free it with bench_setup_close(). ML_ERR_SYSTEM, ML_ERR_MEMORY. */
int bench_setup_open(struct bench_setup *out, const struct bench_options *o, struct fault *why);

/* Adds the hosts' names, the system's instead of "localhost", and how many ranks each has, in the
 * order of their first ranks. Does nothing if they are there. ML_ERR_MEMORY. */
int bench_setup_add_hosts(struct bench_setup *s, const ml_group *world, struct fault *why);

void bench_setup_close(struct bench_setup *s); /* takes zeros */

/* Returns "a:2 b:2", owned by the caller; NULL: out of memory. After `most` characters (0: no
 * limit) it ends in the number of the hosts that are left out. */
char *bench_setup_hosts_text(const struct bench_setup *s, size_t most);

#endif

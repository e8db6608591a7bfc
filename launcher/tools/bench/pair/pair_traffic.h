/* SPDX-License-Identifier: MIT */
/* pair_traffic.h: what two ranks send each other to measure the way between them. */
#ifndef LAUNCHER_TOOLS_BENCH_PAIR_PAIR_TRAFFIC_H
#define LAUNCHER_TOOLS_BENCH_PAIR_PAIR_TRAFFIC_H

#include "launcher/tools/bench/command/bench_options.h"
#include "launcher/tools/bench/pair/time_spread.h"

enum pair_way { PAIR_LATENCY, PAIR_THERE, PAIR_BACK, PAIR_BOTH, PAIR_WAYS };

/* The times at the leader, the lower of the two ranks. Latency: half the time of a message there
 * and back. The others: the time of one message in a window of many; of both, of one each way. */
struct pair_times {
    struct time_spread all[PAIR_WAYS], round[PAIR_WAYS]; /* over all rounds; in the last one */
    uint64_t errors;                                     /* wrong bytes at both, of all rounds */
};

struct pair_buffers {
    unsigned char *in, *out;
    bool uses_alloc;
};

/* For messages of `size` bytes. ML_ERR_MEMORY: there is less than that, on this rank. */
int pair_buffers_open(struct pair_buffers *b, size_t size, bool uses_alloc, struct fault *why);
void pair_buffers_close(struct pair_buffers *b);

/* One round at one size; both call it, and `t` is the leader's. Returns the ML_ERR_* of a call
 * that failed. */
int pair_traffic_run(const struct bench_options *o, ml_group *world, int peer, size_t size,
                     const struct pair_buffers *b, struct pair_times *t);

#endif

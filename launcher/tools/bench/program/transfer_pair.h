/* SPDX-License-Identifier: MIT */
/*
 * transfer_pair.h: tensors from a producer to a consumer, as a connector moves them: put into the
 * consumer's part of a window, with a signal behind it; the consumer answers when it has the data,
 * and again when it has compared digests. Each transfer has other data.
 */
#ifndef LAUNCHER_TOOLS_BENCH_PROGRAM_TRANSFER_PAIR_H
#define LAUNCHER_TOOLS_BENCH_PROGRAM_TRANSFER_PAIR_H

#include "launcher/tools/bench/command/bench_options.h"

/* What a rank needs for one size, whether it produces or consumes. */
struct transfer_memory {
    const struct bench_options *options;
    size_t size;
    ml_window *window;
    ml_pool *pool;
    unsigned char *part;        /* this rank's of the window */
    unsigned char *block;       /* in the pool: what is put */
    unsigned char *data;        /* the program's own copy, with --mode copy; owned, or NULL */
    uint64_t arrived, answered; /* what this rank's signals have been so far */
};

/* Collective. Close it even after a failure. */
int transfer_memory_open(struct transfer_memory *m, const struct bench_options *o, ml_group *world,
                         size_t size, struct fault *why);
void transfer_memory_close(struct transfer_memory *m);

/* Makes all transfers to rank `to`, after one that is not timed. *seconds: from the start of each
 * until the consumer has it. */
int transfer_pair_produce(struct transfer_memory *m, int to, double *seconds);

/* Takes all transfers of rank `from`. *failed: how many were not what was sent. */
int transfer_pair_consume(struct transfer_memory *m, int from, uint64_t *failed);

#endif

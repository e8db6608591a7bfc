/* SPDX-License-Identifier: MIT */
/* buffers.h: one size's operation: its buffers, the call itself, and what must come out of it. */
#ifndef LAUNCHER_BENCH_BUFFERS_H
#define LAUNCHER_BENCH_BUFFERS_H

#include "launcher/bench/bench_options.h"

/* One size, as it is measured: of operations that share a buffer out, the size is rounded down to equal
 * shares of whole elements, of at least one each. */
struct bench_case {
    const struct bench_options *options;
    ml_group *world;
    int rank, ranks;
    size_t
        bytes; /* as NCCL's tests count: the larger of what goes in and what comes out at one rank */
    size_t count; /* elements that the call names: of a share in those operations */
    size_t share; /* bytes of `count` elements */
    int window;   /* messages a call: of bw */
    unsigned char *in, *out;
};

/* ML_ERR_MEMORY, on this rank. */
int bench_case_open(struct bench_case *c, const struct bench_options *o, ml_group *world,
                    size_t size, struct fault *why);
void bench_case_close(struct bench_case *c);

/* The call that is timed, once. */
int bench_case_run(struct bench_case *c);

/* Fills the buffers, makes the call and counts the wrong elements (bytes where nothing is reduced) at this rank. */
int bench_case_check(struct bench_case *c, uint64_t *errors);

#endif

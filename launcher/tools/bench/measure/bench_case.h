/* SPDX-License-Identifier: MIT */
/* bench_case.h: an operation at one size: its buffers and the call that is timed. */
#ifndef LAUNCHER_TOOLS_BENCH_MEASURE_BENCH_CASE_H
#define LAUNCHER_TOOLS_BENCH_MEASURE_BENCH_CASE_H

#include "launcher/tools/bench/command/bench_options.h"

/* One size, as it is measured: if the ranks of an operation share a buffer out, the size is rounded
 * down to equal shares of whole elements, of at least one element each. */
struct bench_case {
    const struct bench_options *options;
    ml_group *world;
    int rank, ranks;
    size_t bytes;             /* the larger buffer's at one rank, in or out, as in NCCL's tests */
    size_t count;             /* elements that the call names: of a share in those operations */
    size_t share;             /* bytes of `count` elements */
    int window;               /* bw, put, get and atomic: messages a call */
    unsigned char *in, *out;  /* in host memory */
    unsigned char *from, *to; /* what the call gets: these, or their copies on a GPU */
    ml_window *memory;        /* put, get and atomic: what rank 0 reaches of rank 1; or NULL */
    unsigned char *part;      /* this rank's part of it, or a copy of one on a GPU */
    unsigned char *gpu_part;  /* the part on a GPU; NULL: it is host memory of the library */
};

/* Allocates the buffers and leaves them unwritten. ML_ERR_MEMORY, ML_ERR_DEVICE, on this rank. */
int bench_case_open(struct bench_case *c, const struct bench_options *o, ml_group *world,
                    size_t size, struct fault *why);
void bench_case_close(struct bench_case *c);

/* Memory for messages, unwritten, of the library's own allocator if `uses_alloc`. NULL: there is
 * none. Close takes NULL. */
unsigned char *bench_buffer_open(size_t size, bool uses_alloc);
void bench_buffer_close(unsigned char *memory, bool uses_alloc);

/* Copy `in`, `out` and `part` to where the call has them, and `out` and what was put back; nothing
 * to do in host memory.
 * ML_ERR_DEVICE. */
int bench_case_give(struct bench_case *c, struct fault *why);
int bench_case_take(struct bench_case *c, struct fault *why);

/* Makes the timed call once. Returns its ML_ERR_*. */
int bench_case_run(struct bench_case *c);

/* Returns `rc`, what a call of the library has returned. If it has failed, stores the library's
 * sentence about it. */
int bench_case_call(struct fault *why, int rc);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * combiner.h: an operator of the program (ml_operator) during one call: the memory that it needs,
 * and how it combines what lies anywhere in any order. Only the thread that carries out the call
 * uses it.
 */
#ifndef RUNTIME_KERNEL_COMBINER_H
#define RUNTIME_KERNEL_COMBINER_H

#include "common/mlaunch.h"

#include <stdatomic.h>
#include <stdbool.h>

struct combiner {
    ml_operator with; /* a copy of the program's */
    size_t unit;      /* bytes at whose multiples vectors may be cut, and stay aligned */
    size_t grain;     /* bytes combined at a time: a multiple of the element's, at least one */
    char *work;       /* `grain` bytes; part of this block, as are: */
    char *parts;      /* an element for each rank, of which not all has come */
};

/* For a call of a group of `ranks`; combiner_destroy frees it. NULL: out of memory. */
struct combiner *combiner_create(const ml_operator *with, int ranks);
void combiner_destroy(struct combiner *c);

/* into = left op right, of `size` bytes in whole elements. `into` may be one of them. `left` and
 * `right` may lie anywhere, `into` where the function may write. */
void combiner_run(const struct combiner *c, void *into, const void *left, const void *right,
                  size_t size);

/* inout = inout op in: the function alone, of aligned elements. */
void combiner_apply(const struct combiner *c, void *inout, const void *in, size_t size);

/* True if the calling thread is in a function of the program, which must not call the library. */
extern _Atomic int combiner_running; /* in all threads */
bool combiner_runs_here(void);
static inline bool combiner_forbids(void)
{
    return __builtin_expect(atomic_load_explicit(&combiner_running, memory_order_relaxed), 0) &&
           combiner_runs_here();
}

#endif

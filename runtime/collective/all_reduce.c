/* SPDX-License-Identifier: MIT */
#include "runtime/collective/all_reduce.h"

#include "runtime/kernel/reduce_op.h"
#include "runtime/steps/algorithm_table.h"

#include <string.h>

int all_reduce(struct group *g, const void *in, void *out, size_t count, ml_type type, ml_op op,
               struct fault *why)
{
    size_t size = count * type_size(type);
    enum algorithm algorithm;
    int rc;

    (void)op; /* the links know it from the call */
    if (g->size == 1) {
        if (in != out && size)
            memcpy(out, in, size);
        return 0;
    }
    rc = algorithm_choose(CALL_ALL_REDUCE, size, g, &algorithm, why);
    if (rc)
        return rc;
    switch (algorithm) {
    case ALGORITHM_DOUBLING:
        return all_reduce_doubling(g, in, out, size, why);
    case ALGORITHM_FLAT:
        return all_reduce_flat(g, in, out, size, why);
    case ALGORITHM_HIERARCHICAL:
        return all_reduce_hierarchical(g, in, out, size, why);
    case ALGORITHM_LEADERS:
        return all_reduce_leaders(g, in, out, size, why);
    case ALGORITHM_RING:
        return all_reduce_ring(g, in, out, size, why);
    case ALGORITHM_SHARED:
        return all_reduce_shared(g, in, out, size, why);
    case ALGORITHM_SHARED_FLAT:
        return all_reduce_shared_flat(g, in, out, size, why);
    default:
        return all_reduce_direct(g, in, out, size, why);
    }
}

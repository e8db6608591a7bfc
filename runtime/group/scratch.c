/* SPDX-License-Identifier: MIT */
/* scratch.c: a group's working memory, kept from call to call. */
#include "runtime/group/group.h"

#include <stdlib.h>

enum { SCRATCH_ALIGN = 64 /* a cache line, and the widest vector register */ };

void *group_scratch(struct group *g, size_t size)
{
    size_t rounded = (size + SCRATCH_ALIGN - 1) & ~(size_t)(SCRATCH_ALIGN - 1);
    void *fresh;

    if (size <= g->scratch_size && g->scratch)
        return g->scratch;
    if (rounded < size)
        return NULL;
    fresh = aligned_alloc(SCRATCH_ALIGN, rounded ? rounded : SCRATCH_ALIGN);
    if (!fresh)
        return NULL;
    free(g->scratch);
    g->scratch = fresh;
    g->scratch_size = rounded ? rounded : SCRATCH_ALIGN;
    return fresh;
}

/* SPDX-License-Identifier: MIT */
#include "rdma/reorder.h"

#include <stdlib.h>
#include <string.h>

struct reorder_chunk {
    struct reorder_chunk *next;
    struct rail_chunk what;
    unsigned char bytes[];
};

static int chunk_store(struct reorder *b, struct rail *r, const struct rail_chunk *what,
                       const void *bytes, struct fault *why)
{
    struct reorder_chunk *one = malloc(sizeof(*one) + (what->is_direct ? 0 : what->size));

    if (!one)
        return fault_set(why, ML_ERR_MEMORY, "out of memory for chunks that arrived out of order");
    one->what = *what;
    if (!what->is_direct)
        memcpy(one->bytes, bytes, what->size);
    one->next = b->first;
    b->first = one;
    rail_release(r);
    return 0;
}

int reorder_take(struct reorder *b, struct rails *s, uint64_t next, struct fault *why)
{
    struct rail_chunk what;
    const void *bytes;
    bool any = next < b->until;
    int rc = 0;

    while (any && !reorder_find(b, next, &what) && !rails_find(s, next, &what, &bytes)) {
        any = false;
        for (int i = 0; i < s->count && !rc; i++) {
            bytes = rail_next(s->all[i], &what);
            if (!bytes)
                continue;
            rc = chunk_store(b, s->all[i], &what, bytes, why);
            any = !rc;
        }
    }
    return rc;
}

const void *reorder_find(const struct reorder *b, uint64_t number, struct rail_chunk *what)
{
    const struct reorder_chunk *one = b->first;

    while (one && one->what.number != (number & RAIL_NUMBER_MASK))
        one = one->next;
    if (!one)
        return NULL;
    *what = one->what;
    return one->bytes;
}

void reorder_release(struct reorder *b, uint64_t number)
{
    struct reorder_chunk **place = &b->first, *one;

    while (*place && (*place)->what.number != (number & RAIL_NUMBER_MASK))
        place = &(*place)->next;
    one = *place;
    if (!one)
        return;
    *place = one->next;
    free(one);
}

void reorder_clear(struct reorder *b)
{
    for (struct reorder_chunk *one = b->first, *next; one; one = next) {
        next = one->next;
        free(one);
    }
    b->first = NULL;
}

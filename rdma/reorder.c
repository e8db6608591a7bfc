/* SPDX-License-Identifier: MIT */
#include "rdma/reorder.h"

#include <stdlib.h>
#include <string.h>

struct parked {
    struct parked *next;
    struct rail_chunk what;
    unsigned char bytes[];
};

static int put_aside(struct parking *p, struct rail *r, const struct rail_chunk *what,
                     const void *bytes, struct fault *why)
{
    struct parked *one = malloc(sizeof(*one) + (what->is_direct ? 0 : what->size));

    if (!one)
        return fault_set(why, ML_ERR_MEMORY, "out of memory for what came out of order");
    one->what = *what;
    if (!what->is_direct)
        memcpy(one->bytes, bytes, what->size);
    one->next = p->first;
    p->first = one;
    rail_release(r);
    return 0;
}

int parking_take(struct parking *p, struct rails *s, uint64_t next, struct fault *why)
{
    struct rail_chunk what;
    const void *bytes;
    bool any = next < p->until;
    int rc = 0;

    while (any && !parking_find(p, next, &what) && !rails_with(s, next, &what, &bytes)) {
        any = false;
        for (int i = 0; i < s->count && !rc; i++) {
            bytes = rail_next(s->all[i], &what);
            if (!bytes)
                continue;
            rc = put_aside(p, s->all[i], &what, bytes, why);
            any = !rc;
        }
    }
    return rc;
}

const void *parking_find(const struct parking *p, uint64_t number, struct rail_chunk *what)
{
    const struct parked *one = p->first;

    while (one && one->what.number != (number & RAIL_NUMBER_MASK))
        one = one->next;
    if (!one)
        return NULL;
    *what = one->what;
    return one->bytes;
}

void parking_release(struct parking *p, uint64_t number)
{
    struct parked **place = &p->first, *one;

    while (*place && (*place)->what.number != (number & RAIL_NUMBER_MASK))
        place = &(*place)->next;
    one = *place;
    if (!one)
        return;
    *place = one->next;
    free(one);
}

void parking_clear(struct parking *p)
{
    for (struct parked *one = p->first, *next; one; one = next) {
        next = one->next;
        free(one);
    }
    p->first = NULL;
}

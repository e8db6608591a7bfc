/* SPDX-License-Identifier: MIT */
#include "launcher/run/record/call_log.h"

#include <stdlib.h>
#include <string.h>

int call_log_create(struct call_log **out, int size, struct fault *why)
{
    struct call_log *l = calloc(1, sizeof(*l));

    if (l)
        l->ranks = calloc((size_t)size, sizeof(*l->ranks));
    if (!l || !l->ranks) {
        free(l);
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    }
    l->size = size;
    *out = l;
    return 0;
}

void call_log_destroy(struct call_log *l)
{
    if (!l)
        return;
    for (int i = 0; i < l->size; i++)
        free(l->ranks[i].calls);
    free(l->ranks);
    free(l);
}

void call_log_clear(struct call_log *l)
{
    for (int i = 0; l && i < l->size; i++) {
        l->ranks[i].has_come = l->ranks[i].is_cut = false;
        l->ranks[i].count = 0;
    }
}

/* Drops the oldest calls beyond RANK_CALLS_LAST. */
static void tail_trim(struct call_tail *t)
{
    size_t extra = t->count > RANK_CALLS_LAST ? t->count - RANK_CALLS_LAST : 0;

    if (!extra)
        return;
    memmove(t->calls, t->calls + extra, RANK_CALLS_LAST * sizeof(*t->calls));
    t->count = RANK_CALLS_LAST;
}

void call_log_add(struct call_log *l, int rank, uint64_t made, const struct rank_call *calls,
                  size_t count)
{
    struct call_tail *t = &l->ranks[rank];

    t->has_come = true;
    tail_trim(t);
    if (t->count + count > t->room) {
        struct rank_call *more = realloc(t->calls, (t->count + count) * sizeof(*more));

        if (!more)
            return;
        t->calls = more;
        t->room = t->count + count;
    }
    if (count)
        memcpy(t->calls + t->count, calls, count * sizeof(*calls));
    t->count += count;
    t->is_cut = made > t->count;
}

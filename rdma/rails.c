/* SPDX-License-Identifier: MIT */
#include "rdma/rails.h"

#include "rdma/verbs/region.h"

#include <string.h>

static void rails_choose(struct rails *s)
{
    int near = 0;

    s->live_count = s->used_count = 0;
    for (int i = 0; i < s->count; i++)
        if (!s->lost[i].is_dropped)
            s->live[s->live_count++] = s->all[i];
    for (int i = 0; i < s->live_count && s->prefers; i++)
        near = s->live[i]->fit.near > near ? s->live[i]->fit.near : near;
    for (int i = 0; i < s->live_count; i++)
        if (!s->prefers || s->live[i]->fit.near == near)
            s->used[s->used_count++] = s->live[i];
}

void rails_start(struct rails *s)
{
    rails_choose(s);
}

void rails_prefer_near(struct rails *s)
{
    s->prefers = true;
    rails_choose(s);
}

struct rail *rails_route(const struct rails *s, uint64_t number)
{
    return s->used[number % (unsigned)s->used_count];
}

struct rail *rails_find(const struct rails *s, uint64_t number, struct rail_chunk *what,
                        const void **bytes)
{
    for (int i = 0; i < s->count; i++) {
        struct rail *r = s->all[(number + (unsigned)i) % (unsigned)s->count];

        *bytes = rail_next(r, what);
        if (*bytes && what->number == (number & RAIL_NUMBER_MASK))
            return r;
    }
    return NULL;
}

static void rails_drop(struct rails *s, int index)
{
    s->lost[index].is_dropped = true;
    rail_stop(s->all[index]);
    rails_choose(s);
}

int rails_drop_failed(struct rails *s)
{
    int dropped = 0;

    for (int i = 0; i < s->count; i++) {
        if (s->lost[i].is_dropped || !s->all[i]->failed.code || s->live_count == 1)
            continue;
        rails_drop(s, i);
        dropped = 1;
    }
    return dropped;
}

bool rails_control_next(struct rails *s, uint64_t out, struct rail_control *control)
{
    for (int i = 0; i < s->count; i++) {
        struct rails_lost *l = &s->lost[i];

        if (!l->is_dropped || l->has_sent_control)
            continue;
        l->has_sent_control = true;
        *control = (struct rail_control){
            .kind = RAIL_CONTROL_DROPPED, .rail = i, .count = s->all[i]->arrived, .out = out};
        return true;
    }
    return false;
}

int rails_control_take(struct rails *s, const struct rail_control *control, struct fault *why)
{
    struct rails_lost *l;
    struct rail *r;

    if (control->rail < 0 || control->rail >= s->count || s->lost[control->rail].has_peer_control)
        return fault_set(why, ML_ERR_REFUSED,
                         "%s has dropped rail %d, which does not exist or was dropped before",
                         s->peer, control->rail);
    l = &s->lost[control->rail];
    r = s->all[control->rail];
    if (!l->is_dropped) {
        if (!r->failed.code)
            fault_set(&r->failed, ML_ERR_LINK, "%s has lost its end of the link on %s port %d",
                      s->peer, r->fit.port->device, r->fit.port->number);
        rails_drop(s, control->rail);
        l->is_reported = true;
    }
    if (control->count > r->posted || r->posted - control->count > MEMORY_SLOTS)
        return fault_set(why, ML_ERR_REFUSED,
                         "%s has dropped a rail with an impossible number of chunks", s->peer);
    l->has_peer_control = true;
    l->next = control->count;
    return 0;
}

const struct fault *rails_dropped(struct rails *s, int *left)
{
    for (int i = 0; i < s->count; i++) {
        if (!s->lost[i].is_dropped || s->lost[i].is_reported)
            continue;
        s->lost[i].is_reported = true;
        *left = s->live_count;
        return &s->all[i]->failed;
    }
    return NULL;
}

bool rails_have_resent(const struct rails *s)
{
    for (int i = 0; i < s->count; i++)
        if (s->lost[i].is_dropped &&
            (!s->lost[i].has_peer_control || s->lost[i].next < s->all[i]->posted))
            return false;
    return true;
}

/* Bytes outside a slot are read where they lie again, if the other rail's device can. Those of a
 * GPU can't be copied here, and zero_copy_reaches has made sure of all rails. */
static bool rails_may_read(const struct rail *to, const struct rail_chunk *what,
                           struct rail_way *way)
{
    struct explain_place place = rail_place(to);
    struct region_keys keys;
    struct fault ignored = {0};

    *way = (struct rail_way){0};
    if (!what->from || !rail_is_reliable(to) ||
        !region_find(to->domain, what->from, what->size, true, &keys, &place, &ignored))
        return false;
    *way = (struct rail_way){.from = what->from, .key = keys.local};
    return true;
}

static void rails_resend_from(struct rails *s, int index)
{
    struct rail *from = s->all[index];

    while (s->lost[index].next < from->posted) {
        struct rail *to = rails_route(s, s->lost[index].next);
        void *slot = rail_slot(to);
        struct rail_chunk what;
        struct rail_way way;
        const void *bytes;

        if (!slot)
            return;
        bytes = rail_posted(from, s->lost[index].next++, &what);
        if (!rails_may_read(to, &what, &way))
            memcpy(slot, bytes, what.size);
        rail_post(to, what.size, what.number, &way);
    }
}

void rails_resend(struct rails *s)
{
    for (int i = 0; i < s->count && s->live_count < s->count; i++)
        if (s->lost[i].is_dropped && s->lost[i].has_peer_control && s->live_count > 0)
            rails_resend_from(s, i);
}

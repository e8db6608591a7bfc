/* SPDX-License-Identifier: MIT */
#include "rdma/rails.h"

#include <string.h>

void rails_start(struct rails *s)
{
    memcpy(s->live, s->all, sizeof(s->live));
    s->live_count = s->count;
}

struct rail *rails_for(const struct rails *s, uint64_t number)
{
    return s->live[number % (unsigned)s->live_count];
}

struct rail *rails_with(const struct rails *s, uint64_t number, struct rail_chunk *what,
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

static void drop(struct rails *s, int index)
{
    s->lost[index].is_dropped = true;
    rail_stop(s->all[index]);
    s->live_count = 0;
    for (int i = 0; i < s->count; i++)
        if (!s->lost[i].is_dropped)
            s->live[s->live_count++] = s->all[i];
}

int rails_drop_failed(struct rails *s)
{
    int dropped = 0;

    for (int i = 0; i < s->count; i++) {
        if (s->lost[i].is_dropped || !s->all[i]->failed.code || s->live_count == 1)
            continue;
        drop(s, i);
        dropped = 1;
    }
    return dropped;
}

bool rails_say(struct rails *s, uint64_t out, struct rail_word *word)
{
    for (int i = 0; i < s->count; i++) {
        struct lost_rail *l = &s->lost[i];

        if (!l->is_dropped || l->has_said)
            continue;
        l->has_said = true;
        *word = (struct rail_word){
            .kind = RAIL_WORD_DROPPED, .rail = i, .count = s->all[i]->arrived, .out = out};
        return true;
    }
    return false;
}

int rails_hear(struct rails *s, const struct rail_word *word, struct fault *why)
{
    struct lost_rail *l;
    struct rail *r;

    if (word->rail < 0 || word->rail >= s->count || s->lost[word->rail].has_heard)
        return fault_set(why, ML_ERR_REFUSED, "%s drops a rail %d that it can't drop", s->peer,
                         word->rail);
    l = &s->lost[word->rail];
    r = s->all[word->rail];
    if (!l->is_dropped) {
        if (!r->failed.code)
            fault_set(&r->failed, ML_ERR_LINK, "%s has lost its end of the link on %s port %d",
                      s->peer, r->port->device, r->port->number);
        drop(s, word->rail);
        l->is_told = true;
    }
    if (word->count > r->posted || r->posted - word->count > MEMORY_SLOTS)
        return fault_set(why, ML_ERR_REFUSED,
                         "what %s tells of a rail that it has dropped makes no sense", s->peer);
    l->has_heard = true;
    l->next = word->count;
    return 0;
}

const struct fault *rails_dropped(struct rails *s, int *left)
{
    for (int i = 0; i < s->count; i++) {
        if (!s->lost[i].is_dropped || s->lost[i].is_told)
            continue;
        s->lost[i].is_told = true;
        *left = s->live_count;
        return &s->all[i]->failed;
    }
    return NULL;
}

bool rails_have_sent_again(const struct rails *s)
{
    for (int i = 0; i < s->count; i++)
        if (s->lost[i].is_dropped && (!s->lost[i].has_heard || s->lost[i].next < s->all[i]->posted))
            return false;
    return true;
}

static void send_again(struct rails *s, int index)
{
    struct rail *from = s->all[index];

    while (s->lost[index].next < from->posted) {
        struct rail *to = rails_for(s, s->lost[index].next);
        void *slot = rail_slot(to);
        struct rail_chunk what;
        const void *bytes;

        if (!slot)
            return;
        bytes = rail_posted(from, s->lost[index].next++, &what);
        memcpy(slot, bytes, what.size);
        rail_post(to, what.size, what.number, NULL);
    }
}

void rails_send_again(struct rails *s)
{
    for (int i = 0; i < s->count && s->live_count < s->count; i++)
        if (s->lost[i].is_dropped && s->lost[i].has_heard && s->live_count > 0)
            send_again(s, i);
}

/* SPDX-License-Identifier: MIT */
#include "rdma/uc_loss.h"

enum { LATE_TICKS = 2 }; /* seconds after its answer, when what the peer had sent must be here */

/* What was sent well before must be here, and where nothing came, is there something on the way? */
void doubts_tick(struct doubts *d, struct rails *s)
{
    for (int i = 0; i < s->count; i++) {
        struct doubt *one = &d->of[i];
        struct rail *r = s->all[i];

        if (s->lost[i].is_dropped || !r->is_connected || rail_is_reliable(r))
            continue;
        rail_poll(r);
        if (one->has_answer && one->ticks++ >= LATE_TICKS) {
            rail_expect(r, one->sent);
            one->has_answer = false;
        }
        one->asks = r->arrived == one->seen;
        one->seen = r->arrived;
        d->any |= one->asks;
    }
}

bool doubts_say(struct doubts *d, const struct rails *s, struct rail_word *word)
{
    for (int i = 0; i < s->count && d->any; i++) {
        struct doubt *one = &d->of[i];
        bool *what = one->asks ? &one->asks : &one->answers;

        if (!*what || s->lost[i].is_dropped)
            continue;
        *word = (struct rail_word){.kind = one->asks ? RAIL_WORD_ASKS : RAIL_WORD_SENT,
                                   .rail = i,
                                   .count = s->all[i]->posted};
        *what = false;
        return true;
    }
    d->any = false;
    return false;
}

void doubts_hear(struct doubts *d, struct rails *s, const struct rail_word *word)
{
    struct doubt *one = &d->of[word->rail];

    if (s->lost[word->rail].is_dropped)
        return;
    if (word->kind == RAIL_WORD_ASKS) {
        one->answers = d->any = true;
        /* It may be a free slot that it waits for. */
        rail_repeat_credit(s->all[word->rail]);
    } else if (!one->has_answer) {
        *one = (struct doubt){.asks = one->asks,
                              .answers = one->answers,
                              .has_answer = true,
                              .sent = word->count,
                              .seen = one->seen};
    }
}

/* SPDX-License-Identifier: MIT */
#include "rdma/uc_loss.h"

enum { LATE_TICKS = 2 }; /* seconds after the peer's answer: what it had sent must have arrived */

void uc_loss_tick(struct uc_loss *u, struct rails *s)
{
    for (int i = 0; i < s->count; i++) {
        struct uc_loss_rail *one = &u->of[i];
        struct rail *r = s->all[i];

        if (s->lost[i].is_dropped || !r->is_connected || rail_is_reliable(r))
            continue;
        rail_poll(r);
        /* What the peer had sent LATE_TICKS ago must be here by now. */
        if (one->has_answer && one->ticks++ >= LATE_TICKS) {
            rail_expect(r, one->sent);
            one->has_answer = false;
        }
        /* If nothing has arrived since the last tick: is anything on the way? */
        one->must_query = r->arrived == one->seen;
        one->seen = r->arrived;
        u->any_control |= one->must_query;
    }
}

bool uc_loss_control_next(struct uc_loss *u, const struct rails *s, struct rail_control *control)
{
    for (int i = 0; i < s->count && u->any_control; i++) {
        struct uc_loss_rail *one = &u->of[i];
        bool *what = one->must_query ? &one->must_query : &one->must_answer;

        if (!*what || s->lost[i].is_dropped)
            continue;
        *control =
            (struct rail_control){.kind = one->must_query ? RAIL_CONTROL_QUERY : RAIL_CONTROL_SENT,
                                  .rail = i,
                                  .count = s->all[i]->posted};
        *what = false;
        return true;
    }
    u->any_control = false;
    return false;
}

void uc_loss_control_take(struct uc_loss *u, struct rails *s, const struct rail_control *control)
{
    struct uc_loss_rail *one = &u->of[control->rail];

    if (s->lost[control->rail].is_dropped)
        return;
    if (control->kind == RAIL_CONTROL_QUERY) {
        one->must_answer = u->any_control = true;
        /* The peer may be waiting for a free slot. */
        rail_repeat_credit(s->all[control->rail]);
    } else if (!one->has_answer) {
        one->has_answer = true;
        one->sent = control->count;
        one->ticks = 0;
    }
}

/* SPDX-License-Identifier: MIT */
#include "runtime/window/window_wait.h"

#include "common/clock.h"
#include "common/failure_times.h"
#include "runtime/group/wait.h"
#include "runtime/group/wait_note.h"
#include "runtime/group/world.h"
#include "runtime/window/window_signal_linux.h"

#include <jansson.h>
#include <stdio.h>

enum { TELL_NS = WAITING_AFTER_MS * 1000 * 1000, TEXT = 192 };

/* World ranks: in ml_window_free those that have not come so far, and else the other one if there
 * is one other. */
static json_t *wait_peers(const struct window_wait *x)
{
    const struct window *w = x->window;
    const struct group *g = w->group;
    const struct window_control *own = w->parts[g->rank].control;
    json_t *peers = json_array();

    for (int i = 0; i < g->size; i++) {
        unsigned stage = w->parts[i].control && x->stage ? WINDOW_LEFT : x->stage;

        if (i != g->rank && (x->number ? g->size == 2 : atomic_load(&own->stages[i]) < stage))
            json_array_append_new(peers, json_integer(g->members[i]));
    }
    return peers;
}

/* "wait_signal of window 5 from any rank: 3 or more at offset 8, where 2 is" */
static void signal_describe(const struct window_wait *x, json_t *peers, char text[TEXT])
{
    char from[32] = "any rank";

    if (json_array_size(peers))
        snprintf(from, sizeof(from), "rank %lld",
                 (long long)json_integer_value(json_array_get(peers, 0)));
    snprintf(text, TEXT,
             "wait_signal of window %u from %s: %llu or more at offset %llu, where %llu is",
             (unsigned)x->window->group->id, from, (unsigned long long)x->at_least,
             (unsigned long long)x->offset, (unsigned long long)atomic_load(x->number));
}

static void window_tell(const struct window_wait *x)
{
    const struct group *g = x->window->group;
    struct waiting_call call = {.name = "window_free", .seq = 1, .peers = wait_peers(x)};
    char text[TEXT];

    snprintf(text, sizeof(text), "window_free of window %u", (unsigned)g->id);
    if (x->number) {
        signal_describe(x, call.peers, text);
        call.name = json_array_size(call.peers) ? "wait_signal" : "wait_signal from any rank";
        call.seq = 0;
    }
    call.text = text;
    wait_tell(g, &call);
    json_decref(call.peers);
}

void window_wait(const struct window_wait *x)
{
    struct window *w = x->window;
    struct window_control *own = w->parts[w->group->rank].control;
    bool is_telling = !w->group->world->is_launched, has_told = false, is_over;

    do {
        int64_t until_ns = is_telling ? INT64_MAX : clock_ns() + TELL_NS;

        if (until_ns > x->deadline_ns)
            until_ns = x->deadline_ns;
        is_over =
            window_signal_sleep(own, x->has_come, x->arg, until_ns) || until_ns == x->deadline_ns;
        /* Several threads may wait for signals; one is told of at a time. */
        if (!is_over && !is_telling && !atomic_exchange(&w->is_told, true)) {
            is_telling = has_told = true;
            window_tell(x);
        }
    } while (!is_over);
    if (has_told) {
        wait_tell_over(w->group);
        atomic_store(&w->is_told, false);
    }
}

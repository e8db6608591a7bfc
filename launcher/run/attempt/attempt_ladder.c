/* SPDX-License-Identifier: MIT */
#include "launcher/run/attempt/attempt_ladder.h"

#include "common/clock.h"
#include "common/log.h"
#include "common/text/rank_list.h"
#include "launcher/run/attempt/attempt_state.h"

#include <event2/event.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

int attempt_ladder_ranks(const struct attempt *a, char out[ATTEMPT_LADDER_RANKS])
{
    struct rank_list list = {0};

    out[0] = '\0';
    for (int i = 0; a->has_run && i < a->plan->size; i++) {
        if (!a->ranks[i].ended)
            rank_list_add(&list, i);
    }
    if (list.count == 1)
        snprintf(out, ATTEMPT_LADDER_RANKS, "rank %d on host %.256s", list.last,
                 plan_host(a->plan, a->plan->ranks[list.last].host)->name);
    else if (list.count > 1)
        snprintf(out, ATTEMPT_LADDER_RANKS, "%s", rank_list_end(&list));
    return list.count;
}

/* The agents send SIGTERM so long after the first signal; 0: they don't. */
static int term_after_ms(const struct attempt *a)
{
    return a->stop_signal == SIGTERM || a->stop_signal == SIGKILL ? 0 : a->stop_grace_ms / 2;
}

static void step_set(struct attempt *a, int after_ms)
{
    int left = clock_left_ms(a->stop_ms + after_ms);
    const struct timeval t = {left / 1000, left % 1000 * 1000};

    evtimer_add(a->ladder, &t);
}

void attempt_ladder_start(struct attempt *a)
{
    a->stop_ms = clock_ms();
    a->is_past_term = term_after_ms(a) == 0;
    /* The user of `mlaunch ... | head` has gone away, and is not told. */
    if (a->cause != STOP_READER_GONE && a->stop_signal != SIGKILL && a->stop_grace_ms > 0)
        step_set(a, a->is_past_term ? a->stop_grace_ms : term_after_ms(a));
}

void attempt_ladder_on_step(evutil_socket_t fd, short what, void *arg)
{
    struct attempt *a = arg;
    bool is_last = a->is_past_term;
    double after_s = (is_last ? a->stop_grace_ms : term_after_ms(a)) / 1000.0;
    char ranks[ATTEMPT_LADDER_RANKS];

    (void)fd;
    (void)what;
    a->is_past_term = true;
    if (a->state != ATTEMPT_STOPPING || a->is_hurried || a->ranks_left == 0)
        return;
    attempt_ladder_ranks(a, ranks);
    log_warn("%s %s not ended %g s after SIG%s: %s%s", ranks, a->ranks_left == 1 ? "has" : "have",
             after_s, sigabbrev_np(a->stop_signal), is_last ? "SIGKILL" : "SIGTERM",
             is_last ? " (--grace)" : "");
    if (!is_last)
        step_set(a, a->stop_grace_ms);
}

/* In tenths. */
static double seconds_until(const struct attempt *a, int after_ms)
{
    int tenths = (clock_left_ms(a->stop_ms + after_ms) + 50) / 100;

    return tenths / 10.0;
}

void attempt_ladder_describe(const struct attempt *a, char *out, size_t size)
{
    char term[48] = "";

    out[0] = '\0';
    if (a->state != ATTEMPT_STOPPING || a->is_hurried ||
        clock_left_ms(a->stop_ms + a->stop_grace_ms) == 0)
        return;
    if (!a->is_past_term)
        snprintf(term, sizeof(term), "SIGTERM in %g s, ", seconds_until(a, term_after_ms(a)));
    snprintf(out, size, "%sSIGKILL in %g s; --grace changes that", term,
             seconds_until(a, a->stop_grace_ms));
}

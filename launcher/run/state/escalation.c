/* SPDX-License-Identifier: MIT */
#include "launcher/run/state/escalation.h"

#include "common/clock.h"
#include "common/log.h"
#include "common/status.h"
#include "common/text/rank_list.h"
#include "common/text/signal_text.h"
#include "launcher/base/text/name_ranges.h"
#include "launcher/run/state/job_round_state.h"

#include <event2/event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_running(const struct job_round *r, int rank)
{
    const struct live_rank *one = &r->lives.ranks[rank];

    return one->life != RANK_OVER && lives_host_runs(r->lives.hosts[one->host].life);
}

/* Independent hosts have no ranks that a user knows. */
static void hosts_name(const struct job_round *r, char out[ESCALATION_RANKS])
{
    const char **names = calloc((size_t)r->plan->where->size, sizeof(*names));
    size_t count = 0;
    char *list = NULL;
    struct fault why;

    for (int i = 0; names && i < r->plan->where->size; i++) {
        if (is_running(r, i))
            names[count++] = plan_host(r->plan, r->lives.ranks[i].host)->name;
    }
    if (names && name_ranges_format(&list, names, count, &why) == 0)
        snprintf(out, ESCALATION_RANKS, "hosts %s", list);
    free(list);
    free(names);
}

int escalation_ranks(const struct job_round *r, char out[ESCALATION_RANKS])
{
    struct rank_list list = {0};

    out[0] = '\0';
    for (int i = 0; r->at.start_ms && i < r->plan->where->size; i++) {
        if (is_running(r, i))
            rank_list_add(&list, i);
    }
    if (list.count == 1)
        snprintf(out, ESCALATION_RANKS, "rank %d on host %.256s", list.last,
                 plan_host(r->plan, r->lives.ranks[list.last].host)->name);
    else if (list.count > 1 && r->config.results)
        hosts_name(r, out);
    else if (list.count > 1)
        snprintf(out, ESCALATION_RANKS, "%s", rank_list_end(&list));
    return list.count;
}

/* The agents send SIGTERM so long after the first signal; 0: they don't. */
static int term_after_ms(const struct job_round *r)
{
    return r->stop.signal == SIGTERM || r->stop.signal == SIGKILL ? 0 : r->stop.grace_ms / 2;
}

static void step_set(struct job_round *r, int after_ms)
{
    int left = clock_left_ms(r->stop.sent_ms + after_ms);
    const struct timeval t = {left / 1000, left % 1000 * 1000};

    evtimer_add(r->stop.escalation, &t);
}

void escalation_start(struct job_round *r)
{
    r->stop.sent_ms = clock_ms();
    r->stop.step = term_after_ms(r) ? STOP_TERM_IS_DUE : STOP_KILL_IS_DUE;
    /* The user of `mlaunch ... | head` has gone away, and is not told. */
    if (r->stop.cause != STOP_READER_GONE && r->stop.signal != SIGKILL && r->stop.grace_ms > 0)
        step_set(r, r->stop.step == STOP_KILL_IS_DUE ? r->stop.grace_ms : term_after_ms(r));
}

void escalation_on_step(evutil_socket_t fd, short what, void *arg)
{
    struct job_round *r = arg;
    bool is_last = r->stop.step == STOP_KILL_IS_DUE;
    double after_s = (is_last ? r->stop.grace_ms : term_after_ms(r)) / 1000.0;
    char ranks[ESCALATION_RANKS];
    int left = escalation_ranks(r, ranks);

    (void)fd;
    (void)what;
    if (r->state != JOB_ROUND_STOPPING || r->stop.step == STOP_IS_HURRIED)
        return;
    r->stop.step = STOP_KILL_IS_DUE;
    if (left == 0)
        return;
    log_warn("%s %s not ended %g s after SIG%s: %s%s", ranks, left == 1 ? "has" : "have", after_s,
             signal_text_name(r->stop.signal), is_last ? "SIGKILL" : "SIGTERM",
             is_last ? " (--grace)" : "");
    if (!is_last)
        step_set(r, r->stop.grace_ms);
}

/* In tenths. */
static double seconds_until(const struct job_round *r, int after_ms)
{
    int tenths = (clock_left_ms(r->stop.sent_ms + after_ms) + 50) / 100;

    return tenths / 10.0;
}

void escalation_describe(const struct job_round *r, char *out, size_t size)
{
    char term[48] = "";

    out[0] = '\0';
    if (r->state != JOB_ROUND_STOPPING || r->stop.step == STOP_IS_HURRIED ||
        clock_left_ms(r->stop.sent_ms + r->stop.grace_ms) == 0)
        return;
    if (r->stop.step == STOP_TERM_IS_DUE)
        snprintf(term, sizeof(term), "SIGTERM in %g s, ", seconds_until(r, term_after_ms(r)));
    snprintf(out, size, "%sSIGKILL in %g s; --grace changes that", term,
             seconds_until(r, r->stop.grace_ms));
}

int escalation_status(enum stop_cause cause, int signal)
{
    static const int statuses[] = {[STOP_TIMEOUT] = STATUS_TIMEOUT,
                                   [STOP_READER_GONE] = STATUS_SIGNAL + SIGPIPE,
                                   [STOP_OUTPUT_FAILED] = STATUS_OURS};

    return cause == STOP_SIGNAL || cause == STOP_SLURM ? STATUS_SIGNAL + signal : statuses[cause];
}

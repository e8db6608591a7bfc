/* SPDX-License-Identifier: MIT */
#include "launcher/run/job/chaos_clock.h"

#include "common/text/rank_list.h"
#include "launcher/run/round/job_round.h"
#include "launcher/run/stdio/events_file.h"
#include "launcher/run/stdio/output.h"

#include <event2/event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct chaos_timer {
    struct chaos_clock *clock;
    const struct chaos_action *action;
    struct event *event;
    bool is_stopped; /* CHAOS_STOP: the ranks continue next */
};

struct chaos_clock {
    struct chaos_job job;
    struct chaos_timer timers[CHAOS_ACTIONS];
    int count;
};

static void timer_set(struct chaos_timer *t, int ms)
{
    const struct timeval time = {ms / 1000, ms % 1000 * 1000};

    event_add(t->event, &time);
}

/* `event` is taken over; NULL: nothing happens. */
static void clock_say(const struct chaos_job *job, const char *text, json_t *event)
{
    output_say(job->output, "%s", text);
    if (event)
        events_file_write(job->events, "chaos", job->id, event);
}

static const char *word_of(const struct chaos_timer *t)
{
    return t->action->kind == CHAOS_KILL ? "kill" : t->is_stopped ? "continue" : "stop";
}

/* "rank 3 is stopped for 5.000 s" */
static void ranks_say(const struct chaos_timer *t, const char *names, json_t *ranks)
{
    const char *verb = strncmp(names, "ranks", 5) == 0 ? "are" : "is";
    char text[RANK_LIST_TEXT + 100];

    if (t->action->kind == CHAOS_KILL)
        snprintf(text, sizeof(text), "--chaos: %s %s killed (SIGKILL)", names, verb);
    else if (t->is_stopped)
        snprintf(text, sizeof(text), "--chaos: %s %s continued (SIGCONT)", names, verb);
    else
        snprintf(text, sizeof(text), "--chaos: %s %s stopped for %d.%03d s (SIGSTOP)", names, verb,
                 t->action->for_ms / 1000, t->action->for_ms % 1000);
    clock_say(&t->clock->job, text, json_pack("{ss so}", "action", word_of(t), "ranks", ranks));
}

static void ranks_signal(const struct chaos_timer *t, int signal)
{
    const struct chaos_job *job = &t->clock->job;
    struct rank_list list = {0};
    json_t *ranks = json_array();
    char text[100];

    for (int r = 0; r < job->size; r++) {
        if (rank_set_has(&t->action->ranks, r) && *job->round &&
            job_round_signal_rank(*job->round, r, signal)) {
            rank_list_add(&list, r);
            json_array_append_new(ranks, json_integer(r));
        }
    }
    if (list.count > 0) {
        ranks_say(t, rank_list_end(&list), ranks);
        return;
    }
    json_decref(ranks);
    snprintf(text, sizeof(text), "--chaos: none of the ranks to %s runs now", word_of(t));
    clock_say(job, text, NULL);
}

static void host_cut(const struct chaos_timer *t)
{
    const struct chaos_job *job = &t->clock->job;
    const char *host = t->action->host;
    char text[CHAOS_HOST + 100];

    if (*job->round && job_round_has_host(*job->round, host)) {
        snprintf(text, sizeof(text), "--chaos: the connection to host %s is cut", host);
        clock_say(job, text, json_pack("{ss ss}", "action", "cut", "host", host));
        job_round_cut(*job->round, host, "its connection was cut by --chaos");
    } else {
        snprintf(text, sizeof(text), "--chaos: there is no connection to host %s to cut now", host);
        clock_say(job, text, NULL);
    }
}

static void on_time(evutil_socket_t fd, short what, void *arg)
{
    struct chaos_timer *t = arg;

    (void)fd, (void)what;
    if (t->action->kind == CHAOS_CUT) {
        host_cut(t);
    } else if (t->action->kind == CHAOS_KILL) {
        ranks_signal(t, SIGKILL);
    } else if (t->is_stopped) {
        ranks_signal(t, SIGCONT);
    } else {
        ranks_signal(t, SIGSTOP);
        t->is_stopped = true;
        timer_set(t, t->action->for_ms);
    }
}

int chaos_clock_start(struct chaos_clock **out, struct event_base *base,
                      const struct chaos_plan *plan, const struct chaos_job *job, struct fault *why)
{
    struct chaos_clock *c = calloc(1, sizeof(*c));

    if (!c)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    c->job = *job;
    c->count = plan->count;
    for (int i = 0; i < plan->count; i++) {
        struct chaos_timer *t = &c->timers[i];

        *t = (struct chaos_timer){.clock = c, .action = &plan->actions[i]};
        t->event = evtimer_new(base, on_time, t);
        if (!t->event) {
            chaos_clock_stop(c);
            return fault_set(why, ML_ERR_MEMORY, "out of memory");
        }
        timer_set(t, t->action->after_ms);
    }
    *out = c;
    return 0;
}

void chaos_clock_stop(struct chaos_clock *c)
{
    if (!c)
        return;
    for (int i = 0; i < c->count; i++) {
        if (c->timers[i].event)
            event_free(c->timers[i].event);
    }
    free(c);
}

/* SPDX-License-Identifier: MIT */
#include "launcher/run/state/hang_watch.h"

#include "common/clock.h"
#include "common/log.h"
#include "launcher/run/stacks/hang_report.h"
#include "launcher/run/state/job_round_state.h"
#include "launcher/run/stdio/events_file.h"
#include "launcher/run/stdio/output.h"
#include "launcher/wire/channel/agent_session.h"

#include <event2/event.h>
#include <stdlib.h>

enum {
    STACKS_MS = 15000,     /* for all stacks of a host */
    LAST_STACKS_MS = 3000, /* before --timeout ends the job */
    LAST_MARGIN_MS = 1000, /* for the answers to come then */
    MARGIN_MS = 3000,      /* and otherwise */
    STACKS_SHOWN = 4,
};

/*
 *   IDLE ──silence──▶ COUNTING ──nothing has moved──▶ SAMPLING ──all have answered, or too late──▶
 *     ▲ └──a stall, --timeout────────────────────────▶ │                                   a report
 *     └───────────────────┴──something has moved───────┴───────────────────────────────────────┘
 */
enum hang_state { HANG_IDLE, HANG_COUNTING, HANG_SAMPLING };
enum hang_cause { HANG_CALL, HANG_SILENCE, HANG_TIMEOUT };

struct hang_watch {
    struct job_round *round;
    enum hang_state state;
    enum hang_cause cause;
    struct event *deadline; /* for COUNTING and SAMPLING */
    struct event *silence;
    int64_t moved_ms;  /* when a rank last wrote something, clock_ms */
    bool has_reported; /* since then */
    bool *awaited;     /* per host: its answer is missing */
    json_t **answers;  /* per host, or NULL */
    json_int_t asked;  /* the number of the last question, which its answers repeat */
    bool is_wanted;    /* SAMPLING for `cause` is to follow COUNTING */
    json_t *counts;    /* what the ranks had counted at the last silence; NULL: nothing */
    void (*done)(void *arg);
    void *done_arg;
};

static void answers_clear(struct hang_watch *w)
{
    for (int i = 0; i < w->round->plan->where->host_count; i++) {
        json_decref(w->answers[i]);
        w->answers[i] = NULL;
        w->awaited[i] = false;
    }
}

static void silence_await(struct hang_watch *w, int64_t since_ms)
{
    int left = clock_left_ms(since_ms + w->round->plan->job.stall_ms);
    const struct timeval t = {left / 1000, left % 1000 * 1000 + 1000};

    if (w->round->plan->options->job.stall_ms > 0)
        evtimer_add(w->silence, &t);
}

/* --- the report ------------------------------------------------------------------------------- */

/* The ranks of all answers, each from its own host and once. Returns their number. */
static size_t ranks_gather(const struct hang_watch *w, struct hang_rank *out)
{
    const struct plan *p = w->round->plan;
    size_t count = 0, kept = 0, k;
    json_t *rank;

    for (int i = 0; i < p->where->host_count; i++) {
        json_t *job = json_array_get(json_object_get(w->answers[i], "jobs"), 0);

        json_array_foreach(json_object_get(job, "ranks"), k, rank)
        {
            json_int_t number = json_integer_value(json_object_get(rank, "rank"));

            if (number >= 0 && number < p->where->size && p->where->ranks[number].host == i &&
                count < (size_t)p->where->size)
                out[count++] = (struct hang_rank){number, plan_host(p, i)->name, rank};
        }
    }
    hang_report_sort(out, count);
    for (size_t i = 0; i < count; i++) {
        if (kept == 0 || out[kept - 1].rank != out[i].rank)
            out[kept++] = out[i];
    }
    return kept;
}

static void report_say(struct hang_watch *w, const json_t *report)
{
    char *text = hang_report_text(report, "    ", STACKS_SHOWN);

    if (w->cause == HANG_SILENCE)
        log_warn("no rank has written anything or begun a call for %d s (--stall)",
                 w->round->plan->job.stall_ms / 1000);
    if (text)
        output_say(w->round->config.output, "where the ranks are:%s", text);
    free(text);
}

static void report_make(struct hang_watch *w)
{
    static const char *const causes[] = {"call", "silence", "timeout"};
    struct hang_rank *ranks = calloc((size_t)w->round->plan->where->size, sizeof(*ranks));
    size_t count = ranks ? ranks_gather(w, ranks) : 0;
    json_t *report = hang_report_make(ranks, count);

    if (count > 0) {
        report_say(w, report);
        json_object_set_new(report, "cause", json_string(causes[w->cause]));
        events_file_write(w->round->config.events, "stalled", w->round->config.job,
                          json_incref(report));
    }
    json_decref(report);
    free(ranks);
    w->has_reported = true;
}

/* --- questions -------------------------------------------------------------------------------- */

static void watch_ask(struct hang_watch *w, enum hang_state state, json_t *question, int ms)
{
    const struct timeval t = {ms / 1000, ms % 1000 * 1000};

    answers_clear(w);
    w->state = state;
    json_object_set_new(question, "ask", json_integer(++w->asked));
    for (int i = 0; i < w->round->plan->where->host_count; i++) {
        json_t *mine;

        w->awaited[i] = lives_host_runs(w->round->lives.hosts[i].life);
        if (!w->awaited[i])
            continue; /* it has no ranks that run */
        mine = json_copy(question);
        json_object_set_new(mine, "host", json_integer(i));
        agent_session_ask(w->round->session, i, mine); /* may find that the host is lost */
    }
    json_decref(question);
    evtimer_add(w->deadline, &t);
}

static void watch_sample(struct hang_watch *w, enum hang_cause cause)
{
    int ms = cause == HANG_TIMEOUT ? LAST_STACKS_MS : STACKS_MS;
    int margin_ms = cause == HANG_TIMEOUT ? LAST_MARGIN_MS : MARGIN_MS;
    bool may_debug = cause == HANG_TIMEOUT || w->round->plan->options->job.stall_ms > 0;

    w->cause = cause;
    w->is_wanted = w->state == HANG_COUNTING;
    if (w->is_wanted)
        return;
    watch_ask(w, HANG_SAMPLING,
              json_pack("{s:s, s:s, s:b, s:b, s:b, s:i}", "what", "list", "job",
                        w->round->config.job, "stacks", 1, "brief", 1, "debug", (int)may_debug,
                        "stacks_ms", ms),
              ms + margin_ms);
}

/* What all ranks have counted; NULL: none of them uses the library. */
static json_t *counts_gather(const struct hang_watch *w)
{
    struct hang_rank *ranks = calloc((size_t)w->round->plan->where->size, sizeof(*ranks));
    size_t count = ranks ? ranks_gather(w, ranks) : 0;
    json_t *list = json_array();

    for (size_t i = 0; i < count; i++) {
        json_t *counters = json_object_get(ranks[i].said, "counters");

        if (json_is_object(counters))
            json_array_append(list, counters);
    }
    free(ranks);
    if (json_array_size(list) > 0)
        return list;
    json_decref(list);
    return NULL;
}

/* The ranks are silent; have they begun calls since the last time? */
static void counts_judge(struct hang_watch *w)
{
    json_t *now = counts_gather(w);
    bool is_still = !now || (w->counts && json_equal(now, w->counts));

    json_decref(w->counts);
    w->counts = now;
    if (is_still)
        watch_sample(w, HANG_SILENCE);
    else
        silence_await(w, clock_ms());
}

static void watch_conclude(struct hang_watch *w)
{
    enum hang_state state = w->state;
    void (*done)(void *arg) = w->done;

    evtimer_del(w->deadline);
    w->state = HANG_IDLE;
    if (state == HANG_COUNTING) {
        if (w->is_wanted)
            watch_sample(w, w->cause);
        else
            counts_judge(w);
        return;
    }
    report_make(w);
    answers_clear(w);
    if (done) {
        w->done = NULL;
        done(w->done_arg);
    }
}

/* Goes on if no answer is missing any more. */
static void watch_check(struct hang_watch *w)
{
    enum hang_state state;

    do {
        state = w->state;
        for (int i = 0; i < w->round->plan->where->host_count; i++) {
            if (w->awaited[i])
                return;
        }
        if (state != HANG_IDLE)
            watch_conclude(w);
    } while (state != HANG_IDLE);
}

static void on_deadline(evutil_socket_t fd, short what, void *arg)
{
    (void)fd, (void)what;
    watch_conclude(arg);
}

static void on_silence(evutil_socket_t fd, short what, void *arg)
{
    struct hang_watch *w = arg;
    int64_t until_ms = w->moved_ms + w->round->plan->job.stall_ms;

    (void)fd, (void)what;
    if (clock_left_ms(until_ms) > 0) {
        silence_await(w, w->moved_ms);
    } else if (w->has_reported || w->state != HANG_IDLE) {
        silence_await(w, clock_ms());
    } else {
        watch_ask(w, HANG_COUNTING,
                  json_pack("{s:s, s:s, s:b}", "what", "list", "job", w->round->config.job,
                            "counters", 1),
                  MARGIN_MS);
        silence_await(w, clock_ms());
        watch_check(w);
    }
}

/* --- from outside ----------------------------------------------------------------------------- */

int hang_watch_create(struct hang_watch **out, struct job_round *round, struct fault *why)
{
    struct hang_watch *w = calloc(1, sizeof(*w));
    size_t hosts = (size_t)plan_host_places(round->plan);

    if (!w)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    w->round = round;
    w->awaited = calloc(hosts, sizeof(*w->awaited));
    w->answers = calloc(hosts, sizeof(*w->answers));
    w->deadline = evtimer_new(round->config.base, on_deadline, w);
    w->silence = evtimer_new(round->config.base, on_silence, w);
    if (!w->awaited || !w->answers || !w->deadline || !w->silence) {
        hang_watch_destroy(w);
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    }
    *out = w;
    return 0;
}

void hang_watch_destroy(struct hang_watch *w)
{
    if (!w)
        return;
    if (w->awaited && w->answers)
        answers_clear(w);
    if (w->deadline)
        event_free(w->deadline);
    if (w->silence)
        event_free(w->silence);
    json_decref(w->counts);
    free(w->answers);
    free(w->awaited);
    free(w);
}

void hang_watch_begin(struct hang_watch *w)
{
    w->moved_ms = clock_ms();
    silence_await(w, w->moved_ms);
}

void hang_watch_moved(struct hang_watch *w)
{
    w->moved_ms = clock_ms();
    w->has_reported = false;
}

void hang_watch_stalled(struct hang_watch *w)
{
    if (w->state == HANG_SAMPLING)
        return; /* the report will say it */
    watch_sample(w, HANG_CALL);
    watch_check(w);
}

void hang_watch_answer(struct hang_watch *w, int host, json_t *answer)
{
    bool is_error = json_object_get(answer, "error"); /* a busy agent says just that */

    if (!w->awaited[host] ||
        (!is_error && json_integer_value(json_object_get(answer, "ask")) != w->asked))
        return;
    w->awaited[host] = false;
    w->answers[host] = json_incref(answer);
    watch_check(w);
}

void hang_watch_lost(struct hang_watch *w, int host)
{
    if (!w->awaited[host])
        return;
    w->awaited[host] = false;
    watch_check(w);
}

void hang_watch_report(struct hang_watch *w, void (*done)(void *arg), void *arg)
{
    w->done = done;
    w->done_arg = arg;
    if (w->state == HANG_SAMPLING) {
        const struct timeval t = {(LAST_STACKS_MS + LAST_MARGIN_MS) / 1000, 0};

        evtimer_add(w->deadline, &t);
    } else {
        watch_sample(w, HANG_TIMEOUT);
        watch_check(w);
    }
}

void hang_watch_end(struct hang_watch *w)
{
    w->done = NULL;
    w->state = HANG_IDLE;
    evtimer_del(w->deadline);
    evtimer_del(w->silence);
    answers_clear(w);
}

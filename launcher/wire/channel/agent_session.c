/* SPDX-License-Identifier: MIT */
#include "launcher/wire/channel/agent_session.h"

#include "common/build_id.h"
#include "common/clock.h"
#include "common/failure_times.h"
#include "common/text/parsed_json.h"
#include "common/text/printable.h"
#include "launcher/wire/protocol/agent_protocol.h"

#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/utsname.h>

#define MALFORMED_ANSWER "its agent sent a malformed ANSWER"

enum { PAUSE_MS = 1000 }; /* how long agents may take to confirm a pause */

/* A question: the first of a host has been sent, the others wait for its answer. */
struct session_question {
    TAILQ_ENTRY(session_question) entry;
    json_t *text; /* NULL: sent */
    agent_answer_fn *answer;
    void *arg;
};

struct session_host {
    struct session_agent seen;
    TAILQ_HEAD(session_questions, session_question) questions;
    const struct host *to;
    const char *advice;
    bool is_timed;   /* its PINGs ask for its time */
    bool stays;      /* it has done its part of a run, and no next one has begun */
    bool is_renewed; /* it was told to begin again, and has not said HELLO yet */
};

struct agent_session {
    struct event_base *base;
    const struct channel_config *config;
    struct agent_session_events events;
    struct session_host *agents;
    int count;
    struct query_rounds rounds;
    int round; /* in `rounds`; beyond the last: none is under way */
    struct event *pulse;
    int64_t pulse_ms; /* time of the last heartbeat, clock_ms() */
    bool is_paused;
    struct event *pause_limit;
    void (*on_paused)(void *arg); /* NULL: no pause is being confirmed */
    void *paused_arg;
};

/* --- questions -------------------------------------------------------------------------------- */

static void question_send(struct session_host *a)
{
    struct session_question *q = TAILQ_FIRST(&a->questions);
    json_t *text = q ? q->text : NULL;

    if (!text)
        return;
    q->text = NULL; /* the send may find the end of the channel, and drop all questions */
    agent_channel_send_json(a->seen.channel, LAUNCH_QUERY, text);
}

/* Takes the question that has been answered out of the list, and sends the next. */
static struct session_question question_take(struct session_host *a)
{
    struct session_question *first = TAILQ_FIRST(&a->questions), taken = *first;

    TAILQ_REMOVE(&a->questions, first, entry);
    free(first);
    a->seen.asked--;
    question_send(a);
    return taken;
}

/* The agent has ended. */
static void questions_drop(struct session_host *a)
{
    struct session_question *q;

    while ((q = TAILQ_FIRST(&a->questions))) {
        TAILQ_REMOVE(&a->questions, q, entry);
        a->seen.asked--;
        if (q->answer)
            q->answer(NULL, q->arg);
        json_decref(q->text);
        free(q);
    }
}

static void answer_ignore(json_t *said, void *arg)
{
    (void)said, (void)arg;
}

void agent_session_forget(struct agent_session *s, int host, const void *arg)
{
    struct session_question *q = TAILQ_FIRST(&s->agents[host].questions);

    for (; q; q = TAILQ_NEXT(q, entry))
        if (q->answer && q->arg == arg)
            q->answer = answer_ignore;
}

void agent_session_ask_for(struct agent_session *s, int host, json_t *question,
                           agent_answer_fn *answer, void *arg)
{
    struct session_host *a = &s->agents[host];
    struct session_question *q = calloc(1, sizeof(*q));

    if (!q || !question) {
        json_decref(question);
        free(q);
        agent_channel_fail(a->seen.channel, "mlaunch is out of memory");
        return;
    }
    *q = (struct session_question){.text = question, .answer = answer, .arg = arg};
    TAILQ_INSERT_TAIL(&a->questions, q, entry);
    if (a->seen.asked++ == 0)
        question_send(a);
}

void agent_session_ask(struct agent_session *s, int host, json_t *question)
{
    agent_session_ask_for(s, host, question, NULL, NULL);
}

/* --- rounds ----------------------------------------------------------------------------------- */

static void round_ask(struct agent_session *s, int host)
{
    log_debug("host %s: asking, round %d of %d", s->agents[host].to->name, s->round + 1,
              s->rounds.count);
    agent_session_ask(s, host, s->rounds.question(s->rounds.arg, host, s->round));
}

static void round_begin(struct agent_session *s)
{
    /* All are awaited before the first is asked: a send may find the end of its channel. */
    for (int i = 0; i < s->count; i++)
        s->agents[i].seen.is_awaited = !s->agents[i].seen.has_ended;
    for (int i = 0; i < s->count; i++)
        if (s->agents[i].seen.is_awaited && s->agents[i].seen.is_greeted)
            round_ask(s, i);
}

bool agent_session_is_asking(const struct agent_session *s)
{
    return s->round < s->rounds.count;
}

/* A host has answered or ended: begins the next round if it was the last one that was awaited. */
static void rounds_advance(struct agent_session *s)
{
    int reached = 0, ended = 0; /* there is room for hosts that come later */

    for (int i = 0; i < s->count; i++) {
        if (s->agents[i].seen.is_awaited)
            return;
        reached += s->agents[i].to != NULL;
        ended += s->agents[i].to && s->agents[i].seen.has_ended;
    }
    if (!agent_session_is_asking(s))
        return;
    s->round++;
    if (ended == reached || (ended && !s->rounds.goes_on))
        s->round = s->rounds.count;
    if (agent_session_is_asking(s))
        round_begin(s);
    else if (s->events.on_rounds_end)
        s->events.on_rounds_end(s->events.arg);
}

void agent_session_ask_rounds(struct agent_session *s, const struct query_rounds *rounds)
{
    s->rounds = *rounds;
    s->round = 0;
    round_begin(s);
    rounds_advance(s);
}

/* --- pauses ----------------------------------------------------------------------------------- */

static void pause_confirm(struct agent_session *s)
{
    void (*on_paused)(void *arg) = s->on_paused;

    evtimer_del(s->pause_limit);
    s->on_paused = NULL;
    if (on_paused)
        on_paused(s->paused_arg);
}

static void on_pause_limit(evutil_socket_t fd, short what, void *arg)
{
    (void)fd, (void)what;
    pause_confirm(arg);
}

/* After each PONG, and each agent that has ended. */
static void pause_check(struct agent_session *s)
{
    if (!s->on_paused)
        return;
    for (int i = 0; i < s->count; i++)
        if (s->agents[i].seen.pings > 0)
            return;
    pause_confirm(s);
}

static bool is_met(const struct session_host *a)
{
    return (a->seen.is_greeted || a->is_renewed) && !a->seen.has_ended;
}

/* The PONG confirms that the PAUSE has arrived. An SSH channel is carried by a thread of this
 * process, which stops with it: without waiting, the PAUSE might not leave in time. */
static void pause_send(struct agent_session *s, int host)
{
    if (!is_met(&s->agents[host]))
        return;
    agent_channel_send(s->agents[host].seen.channel, LAUNCH_PAUSE, NULL, 0);
    if (is_met(&s->agents[host]))
        agent_session_ping(s, host);
}

void agent_session_pause(struct agent_session *s, void (*on_paused)(void *arg), void *arg)
{
    const struct timeval limit = {PAUSE_MS / 1000, 0};

    s->is_paused = true;
    s->on_paused = on_paused;
    s->paused_arg = arg;
    evtimer_add(s->pause_limit, &limit);
    for (int i = 0; i < s->count; i++)
        pause_send(s, i);
    pause_check(s);
}

void agent_session_go_on(struct agent_session *s)
{
    agent_session_reset_silence(s);
    s->on_paused = NULL;
    evtimer_del(s->pause_limit);
    for (int i = 0; i < s->count && s->is_paused; i++)
        if (is_met(&s->agents[i]))
            agent_channel_send(s->agents[i].seen.channel, LAUNCH_RESUME, NULL, 0);
    s->is_paused = false;
}

/* --- frames ----------------------------------------------------------------------------------- */

int agent_session_refuse(const struct frame *f, struct fault *why)
{
    return fault_set(why, ML_ERR_REFUSED, "its agent sent a message of type %d out of turn",
                     f->type);
}

/* A job may mix processors: of one build all agents and ranks understand each other. */
static int build_check(const struct hello_report *h, struct fault *why)
{
    struct utsname here;

    if (strcmp(h->build, build_id) == 0)
        return 0;
    uname(&here);
    if (strcmp(h->arch, here.machine) != 0)
        return fault_set(why, ML_ERR_REFUSED,
                         "its mlaunch-agent is build %s for %s, this mlaunch is build %s for %s: "
                         "install both from the same source",
                         h->build, h->arch, build_id, here.machine);
    return fault_set(why, ML_ERR_REFUSED,
                     "its mlaunch-agent is build %s, this mlaunch is build %s: install the "
                     "same on both, or remove it there, and mlaunch copies its own",
                     h->build, build_id);
}

static int on_hello(struct agent_session *s, int host, const struct frame *f, struct fault *why)
{
    struct session_host *a = &s->agents[host];
    struct hello_report hello;
    bool is_awaited = a->seen.is_awaited; /* if not, on_hello may begin the rounds, which ask it */
    int rc = hello_report_parse(&hello, f, why);

    if (!rc)
        rc = build_check(&hello, why);
    if (rc)
        return rc;
    log_debug("host %s: its agent sent HELLO", a->to->name);
    a->seen.is_greeted = true;
    if (s->events.on_hello)
        rc = s->events.on_hello(host, &hello, s->events.arg, why);
    if (!rc && is_awaited && a->seen.is_awaited)
        round_ask(s, host);
    if (!rc && s->is_paused) /* it has come while the others confirm */
        pause_send(s, host);
    return rc;
}

/* Replaces control characters in all strings: another host's texts may go to a terminal. */
static void answer_make_plain(json_t *value)
{
    const char *key;
    json_t *inner;
    size_t i;

    if (json_is_array(value)) {
        json_array_foreach(value, i, inner)
        {
            answer_make_plain(inner);
        }
    } else if (json_is_object(value)) {
        json_object_foreach(value, key, inner)
        {
            answer_make_plain(inner);
        }
    } else if (json_is_string(value)) {
        char *text = strdup(json_string_value(value));

        if (text)
            printable_mend(text, "");
        if (text && strcmp(text, json_string_value(value)) != 0)
            json_string_set_nocheck(value, text);
        free(text);
    }
}

int agent_session_check_error(const json_t *said, struct fault *why)
{
    const char *error = json_string_value(json_object_get(said, "error"));

    if (!error)
        return 0;
    return fault_set(why, ML_ERR_REFUSED, "%s", error[0] ? error : MALFORMED_ANSWER);
}

static int round_take(struct agent_session *s, int host, const json_t *said, struct fault *why)
{
    int rc = agent_session_check_error(said, why);

    if (!rc)
        rc = s->rounds.take(s->rounds.arg, host, s->round, said, why);
    if (rc)
        return rc;
    log_debug("host %s: has answered", s->agents[host].to->name);
    s->agents[host].seen.is_awaited = false;
    rounds_advance(s);
    return 0;
}

static int on_answer(struct agent_session *s, int host, const struct frame *f, struct fault *why)
{
    bool is_awaited = s->agents[host].seen.is_awaited; /* no ranks are there meanwhile */
    json_t *said =
        (is_awaited ? answered_json : reported_json)((const char *)f->payload, f->size, NULL);
    struct session_question q;
    int rc = 0;

    answer_make_plain(said);
    if (!json_is_object(said)) {
        json_decref(said);
        return fault_set(why, ML_ERR_REFUSED, MALFORMED_ANSWER);
    }
    q = question_take(&s->agents[host]);
    if (q.answer)
        q.answer(said, q.arg);
    else if (is_awaited)
        rc = round_take(s, host, said, why);
    else
        rc = s->events.on_answer(host, said, s->events.arg, why);
    json_decref(said);
    return rc;
}

static int frame_take(struct agent_session *s, int host, const struct frame *f, struct fault *why)
{
    struct session_agent *a = &s->agents[host].seen;

    if (f->type == AGENT_PONG && a->pings > 0)
        a->pings--;
    if (f->type == AGENT_HELLO && !a->is_greeted) {
        s->agents[host].is_renewed = false;
        return on_hello(s, host, f, why);
    }
    if (s->agents[host].stays || s->agents[host].is_renewed)
        return 0; /* a PONG, or what it said before it knew that the run was over */
    if (f->type == AGENT_ANSWER && a->asked > 0)
        return on_answer(s, host, f, why);
    if (f->type != AGENT_PONG)
        return s->events.on_frame ? s->events.on_frame(host, f, s->events.arg, why)
                                  : agent_session_refuse(f, why);
    if (s->events.on_pong)
        s->events.on_pong(host, f, s->events.arg);
    return 0;
}

static void on_frame(int host, const struct frame *f, void *arg)
{
    struct agent_session *s = arg;
    struct fault why;

    if (!s->agents[host].seen.has_ended && frame_take(s, host, f, &why))
        agent_channel_refuse(s->agents[host].seen.channel, why.text);
    pause_check(s);
}

static void on_end(int host, const char *text, void *arg)
{
    struct agent_session *s = arg;
    bool was_awaited = s->agents[host].seen.is_awaited;

    s->agents[host].seen.has_ended = true;
    s->agents[host].seen.is_awaited = false;
    questions_drop(&s->agents[host]);
    s->agents[host].seen.pings = 0;
    if (!s->agents[host].stays)
        s->events.on_end(host, text, s->events.arg);
    if (was_awaited)
        rounds_advance(s);
    pause_check(s);
}

/* --- heartbeats ------------------------------------------------------------------------------- */

void agent_session_ping(struct agent_session *s, int host)
{
    struct session_host *a = &s->agents[host];
    int64_t now = clock_ns();

    a->seen.pings++;
    agent_channel_send(a->seen.channel, LAUNCH_PING, &now, a->is_timed ? sizeof(now) : 0);
}

void agent_session_ask_time(struct agent_session *s, int host)
{
    s->agents[host].is_timed = true;
    agent_session_ping(s, host);
}

void agent_session_advise(struct agent_session *s, int host, const char *advice)
{
    s->agents[host].advice = advice;
}

void agent_session_reset_silence(struct agent_session *s)
{
    s->pulse_ms = clock_ms();
    for (int i = 0; i < s->count; i++)
        if (s->agents[i].seen.channel)
            agent_channel_reset_silence(s->agents[i].seen.channel);
}

static void on_pulse(evutil_socket_t fd, short what, void *arg)
{
    struct agent_session *s = arg;
    int64_t now = clock_ms();
    bool is_gap = now - s->pulse_ms > AGENT_HEARTBEAT_MS + AGENT_GAP_MS;

    (void)fd, (void)what;
    s->pulse_ms = now;
    if (is_gap)
        log_debug("no heartbeat for a while; watching the agents anew");
    if (is_gap || s->is_paused)
        agent_session_reset_silence(s);
    if (s->events.on_pulse)
        s->events.on_pulse(s->events.arg);
    for (int i = 0; i < s->count; i++) {
        struct session_host *a = &s->agents[i];

        if (!a->seen.has_ended && !s->events.is_patient)
            agent_channel_check_silence(a->seen.channel, a->advice ? a->advice : "");
        if (!a->seen.has_ended && a->seen.is_greeted)
            agent_session_ping(s, i);
    }
}

/* --- start and end ---------------------------------------------------------------------------- */

int agent_session_open(struct agent_session **out, struct event_base *base, int count,
                       const struct channel_config *config,
                       const struct agent_session_events *events, struct fault *why)
{
    static const struct timeval interval = FAILURE_TIMEVAL(AGENT_HEARTBEAT_MS);
    struct agent_session *s = calloc(1, sizeof(*s));

    if (!s)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    *s = (struct agent_session){
        .base = base, .config = config, .events = *events, .count = count, .pulse_ms = clock_ms()};
    s->agents = calloc((size_t)count + 1, sizeof(*s->agents));
    s->pulse = event_new(base, -1, EV_PERSIST, on_pulse, s);
    s->pause_limit = evtimer_new(base, on_pause_limit, s);
    if (!s->agents || !s->pulse || !s->pause_limit || evtimer_add(s->pulse, &interval)) {
        agent_session_close(s);
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    }
    for (int i = 0; i < count; i++) {
        TAILQ_INIT(&s->agents[i].questions);
        s->agents[i].seen.has_ended = true;
    }
    *out = s;
    return 0;
}

void agent_session_close(struct agent_session *s)
{
    if (!s)
        return;
    for (int i = 0; s->agents && i < s->count; i++) {
        agent_channel_close(s->agents[i].seen.channel);
        questions_drop(&s->agents[i]);
    }
    if (s->pulse)
        event_free(s->pulse);
    if (s->pause_limit)
        event_free(s->pause_limit);
    free(s->agents);
    free(s);
}

struct agent_channel *agent_session_reach(struct agent_session *s, int host, const struct host *to)
{
    const struct agent_channel_events events = {on_frame, on_end, s};
    struct session_host *a = &s->agents[host];
    struct fault why;

    agent_channel_close(a->seen.channel);
    questions_drop(a);
    *a = (struct session_host){.to = to};
    TAILQ_INIT(&a->questions);
    if (agent_channel_open(&a->seen.channel, s->base, host, to, s->config, &events, &why))
        on_end(host, why.text, s);
    return a->seen.channel;
}

/* --- from one run to the next ----------------------------------------------------------------- */

void agent_session_stay(struct agent_session *s, int host)
{
    s->agents[host].stays = true;
}

void agent_session_hold(struct agent_session *s)
{
    s->events = (struct agent_session_events){0};
    s->round = s->rounds.count = 0;
    for (int i = 0; i < s->count; i++) {
        struct session_host *a = &s->agents[i];

        questions_drop(a);
        a->advice = NULL;
        a->is_timed = false;
        if (a->stays || !a->seen.channel)
            continue;
        agent_channel_close(a->seen.channel);
        a->seen = (struct session_agent){.has_ended = true};
        a->to = NULL;
    }
}

void agent_session_resume(struct agent_session *s, const struct agent_session_events *events)
{
    s->events = *events;
}

struct agent_channel *agent_session_renew(struct agent_session *s, int host, const struct host *to)
{
    struct session_host *a = &s->agents[host];

    if (!a->stays || a->seen.has_ended || a->to != to)
        return NULL;
    log_debug("host %s: its agent is there from the last run", to->name);
    a->seen = (struct session_agent){.channel = a->seen.channel};
    agent_channel_send(a->seen.channel, LAUNCH_AGAIN, NULL, 0);
    if (a->seen.has_ended) /* as the send has found */
        return NULL;
    a->stays = false;
    a->is_renewed = true;
    return a->seen.channel;
}

static void on_part_late(evutil_socket_t fd, short what, void *arg)
{
    (void)fd, (void)what;
    *(bool *)arg = true;
}

static bool has_agents(const struct agent_session *s)
{
    for (int i = 0; i < s->count; i++)
        if (!s->agents[i].seen.has_ended)
            return true;
    return false;
}

void agent_session_part(struct agent_session *s, int limit_ms)
{
    const struct timeval limit = {limit_ms / 1000, limit_ms % 1000 * 1000};
    bool is_late = false;
    struct event *timer;

    if (!s)
        return;
    timer = evtimer_new(s->base, on_part_late, &is_late);
    if (!timer || evtimer_add(timer, &limit))
        is_late = true;
    agent_session_bye(s);
    while (!is_late && has_agents(s))
        event_base_loop(s->base, EVLOOP_ONCE);
    if (timer)
        event_free(timer);
    agent_session_close(s);
}

const struct session_agent *agent_session_agent(const struct agent_session *s, int host)
{
    return &s->agents[host].seen;
}

void agent_session_bye(struct agent_session *s)
{
    for (int i = 0; i < s->count; i++)
        if (!s->agents[i].seen.has_ended)
            agent_channel_send(s->agents[i].seen.channel, LAUNCH_BYE, NULL, 0);
}

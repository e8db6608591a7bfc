/* SPDX-License-Identifier: MIT */
#include "launcher/ask/query.h"

#include "common/log.h"
#include "launcher/ask/session_stop.h"
#include "launcher/wire/protocol/agent_protocol.h"

#include <event2/event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

struct query_run {
    struct event_base *base;
    struct agent_session *session;
    const struct query_rounds *rounds;
    struct query_answer *answers;
    int *answered; /* rounds, by each host */
    int count;
    struct query_limits limits;
    struct event *deadline; /* for the host that was asked last */
    struct event *guests_deadline;
    struct session_stop stop;
    bool is_over;
};

static void answer_await(struct query_run *q)
{
    const struct timeval limit = {q->limits.timeout_ms / 1000, q->limits.timeout_ms % 1000 * 1000};

    evtimer_add(q->deadline, &limit);
}

static json_t *question_make(void *arg, int host, int round)
{
    struct query_run *q = arg;

    answer_await(q);
    return q->rounds->question(q->rounds->arg, host, round);
}

static int answer_take(void *arg, int host, int round, const json_t *said, struct fault *why)
{
    struct query_run *q = arg;
    int rc = q->rounds->take(q->rounds->arg, host, round, said, why);

    if (rc)
        return rc;
    json_decref(q->answers[host].said);
    q->answers[host].said = json_incref((json_t *)said);
    /* Each of several rounds may need all agents, also those that have answered. */
    if (++q->answered[host] == q->rounds->count && q->rounds->count == 1)
        agent_channel_send(agent_session_agent(q->session, host)->channel, LAUNCH_BYE, NULL, 0);
    return 0;
}

static int on_hello(int host, const struct hello_report *hello, void *arg, struct fault *why)
{
    struct query_answer *a = &((struct query_run *)arg)->answers[host];

    (void)why;
    snprintf(a->address, sizeof(a->address), "%s", hello->address);
    snprintf(a->guess, sizeof(a->guess), "%s", hello->guess);
    return 0;
}

static void on_end(int host, const char *text, void *arg)
{
    struct query_run *q = arg;
    struct query_answer *a = &q->answers[host];

    if (q->is_over || q->answered[host] == q->rounds->count)
        return;
    log_debug("host %s: no answer: %s", a->host->name, text);
    snprintf(a->error, sizeof(a->error), "%s", text);
    json_decref(a->said);
    a->said = NULL;
}

static void on_deadline(evutil_socket_t fd, short what, void *arg)
{
    struct query_run *q = arg;

    (void)fd, (void)what;
    for (int i = 0; i < q->count; i++) {
        const struct session_agent *a = agent_session_agent(q->session, i);

        if (a->is_greeted && a->is_awaited)
            agent_channel_fail(a->channel, "its agent has not answered in time");
    }
}

static void on_guests_deadline(evutil_socket_t fd, short what, void *arg)
{
    struct query_run *q = arg;
    char text[64];

    (void)fd, (void)what;
    snprintf(text, sizeof(text), "it has not answered within %d s", q->limits.guests_ms / 1000);
    for (int i = q->count - q->limits.guests; i < q->count; i++) {
        const struct session_agent *a = agent_session_agent(q->session, i);

        if (a->channel && !a->has_ended && q->answered[i] < q->rounds->count)
            agent_channel_fail(a->channel, text);
    }
}

static void guests_await(struct query_run *q)
{
    const struct timeval limit = {q->limits.guests_ms / 1000, q->limits.guests_ms % 1000 * 1000};

    evtimer_add(q->guests_deadline, &limit);
}

/* The time for which the command was stopped is nobody's. */
static void on_go_on(void *arg)
{
    struct query_run *q = arg;

    if (evtimer_pending(q->deadline, NULL))
        answer_await(q);
    if (evtimer_pending(q->guests_deadline, NULL))
        guests_await(q);
}

static void hosts_ask(struct query_run *q, const struct host_list *hosts)
{
    const struct query_rounds rounds = {q->rounds->count, q->rounds->goes_on, question_make,
                                        answer_take, q};

    for (int i = 0; i < q->count; i++)
        q->answers[i].host = &hosts->hosts[i];
    if (q->limits.guests)
        guests_await(q);
    for (int i = 0; i < q->count; i++)
        agent_session_reach(q->session, i, &hosts->hosts[i]);
    agent_session_ask_rounds(q->session, &rounds);
    while (agent_session_is_asking(q->session))
        event_base_loop(q->base, EVLOOP_ONCE);
    q->is_over = true;
    if (q->rounds->count > 1)
        agent_session_bye(q->session);
    event_base_loop(q->base, EVLOOP_NONBLOCK); /* sends the last BYE */
}

static int query_open(struct query_run *q, const struct channel_config *config, struct fault *why)
{
    const struct agent_session_events events = {
        .on_hello = on_hello, .on_end = on_end, .arg = q, .is_patient = true};
    int rc;

    q->base = event_base_new();
    q->deadline = q->base ? evtimer_new(q->base, on_deadline, q) : NULL;
    q->guests_deadline = q->base ? evtimer_new(q->base, on_guests_deadline, q) : NULL;
    q->answers = calloc((size_t)q->count, sizeof(*q->answers));
    q->answered = calloc((size_t)q->count, sizeof(*q->answered));
    if (!q->deadline || !q->guests_deadline || !q->answers || !q->answered)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    rc = agent_session_open(&q->session, q->base, q->count, config, &events, why);
    q->stop = (struct session_stop){.session = q->session, .on_go_on = on_go_on, .arg = q};
    return rc ? rc : session_stop_open(&q->stop, q->base, why);
}

static void query_close(struct query_run *q)
{
    session_stop_close(&q->stop);
    agent_session_close(q->session);
    if (q->deadline)
        event_free(q->deadline);
    if (q->guests_deadline)
        event_free(q->guests_deadline);
    if (q->base)
        event_base_free(q->base);
    free(q->answered);
}

int query_run(struct query_answer **out, const struct host_list *hosts,
              const struct channel_config *config, const struct query_rounds *rounds,
              const struct query_limits *limits, struct fault *why)
{
    struct query_run q = {.rounds = rounds, .count = hosts->count, .limits = *limits};
    void (*before)(int) = signal(SIGPIPE, SIG_IGN);
    int rc = query_open(&q, config, why);

    if (rc) {
        free(q.answers);
    } else {
        *out = q.answers; /* the questions of later rounds may need the addresses */
        hosts_ask(&q, hosts);
    }
    query_close(&q);
    signal(SIGPIPE, before);
    return rc;
}

void query_free(struct query_answer *answers, int count)
{
    for (int i = 0; answers && i < count; i++)
        json_decref(answers[i].said);
    free(answers);
}

/* SPDX-License-Identifier: MIT */
#include "launcher/ask/query.h"

#include "common/log.h"
#include "launcher/ask/query_answer.h"
#include "launcher/wire/channel/agent_channel.h"
#include "launcher/wire/protocol/agent_protocol.h"

#include <event2/event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A host that is asked. */
struct asked {
    struct agent_channel *channel;
    bool is_asked;     /* the first question was sent */
    bool is_over;      /* it has answered this round, or failed */
    const char *ended; /* why its channel has ended; the channel's; or NULL */
};

struct query_run {
    struct event_base *base;
    const struct query_rounds *rounds;
    int round;
    struct query_answer *answers;
    struct asked *asked;
    int count, left; /* left: hosts whose answer is still expected */
    int timeout_ms;
    struct event *deadline; /* of the host that was asked last */
    struct event *pulse;    /* so that agents do not take a query that waits for others for dead */
};

/* The host has answered this round; or, with `error`, it has failed. */
static void host_finish(struct query_run *q, int host, const char *error)
{
    struct asked *a = &q->asked[host];

    if (a->is_over)
        return;
    a->is_over = true;
    q->left--;
    log_debug("host %s: %s%s", q->answers[host].host->name, error ? "no answer: " : "has answered",
              error ? error : "");
    if (!error)
        return;
    snprintf(q->answers[host].error, sizeof(q->answers[host].error), "%s", error);
    json_decref(q->answers[host].said);
    q->answers[host].said = NULL;
}

static void host_ask(struct query_run *q, int host)
{
    struct timeval limit = {q->timeout_ms / 1000, q->timeout_ms % 1000 * 1000};

    q->asked[host].is_asked = true;
    log_debug("host %s: asking, round %d of %d", q->answers[host].host->name, q->round + 1,
              q->rounds->count);
    evtimer_add(q->deadline, &limit);
    agent_channel_send_json(q->asked[host].channel, LAUNCH_QUERY,
                            q->rounds->question(q->rounds->arg, host, q->round));
}

static void on_hello(struct query_run *q, int host, const struct frame *f)
{
    struct hello_report hello;
    struct fault why;

    if (query_answer_hello(&hello, f, &why)) {
        host_finish(q, host, why.text);
    } else {
        snprintf(q->answers[host].address, sizeof(q->answers[host].address), "%s", hello.address);
        snprintf(q->answers[host].guess, sizeof(q->answers[host].guess), "%s", hello.guess);
        host_ask(q, host);
    }
}

static void on_answer(struct query_run *q, int host, const struct frame *f)
{
    json_t *said = NULL;
    struct fault why;

    if (query_answer_read(&said, f, &why) ||
        q->rounds->take(q->rounds->arg, host, q->round, said, &why)) {
        host_finish(q, host, why.text);
    } else {
        json_decref(q->answers[host].said);
        q->answers[host].said = json_incref(said);
        host_finish(q, host, NULL);
    }
    json_decref(said);
    if (q->rounds->count == 1)
        agent_channel_send(q->asked[host].channel, LAUNCH_BYE, NULL, 0);
}

static void on_frame(int host, const struct frame *f, void *arg)
{
    struct query_run *q = arg;

    if (q->asked[host].is_over)
        return;
    if (f->type == AGENT_HELLO && !q->asked[host].is_asked)
        on_hello(q, host, f);
    else if (f->type == AGENT_ANSWER && q->asked[host].is_asked)
        on_answer(q, host, f);
    else if (f->type != AGENT_PONG)
        host_finish(q, host, "its agent sent a message out of turn");
}

static void on_end(int host, const char *text, void *arg)
{
    struct query_run *q = arg;

    q->asked[host].ended = text;
    host_finish(q, host, text);
}

static void on_deadline(evutil_socket_t fd, short what, void *arg)
{
    struct query_run *q = arg;

    (void)fd;
    (void)what;
    for (int i = 0; i < q->count; i++) {
        if (q->asked[i].is_asked)
            host_finish(q, i, "its agent has not answered in time");
    }
}

static void on_pulse(evutil_socket_t fd, short what, void *arg)
{
    struct query_run *q = arg;

    (void)fd, (void)what;
    for (int i = 0; i < q->count; i++)
        if (q->asked[i].is_asked && !q->asked[i].ended)
            agent_channel_send(q->asked[i].channel, LAUNCH_PING, NULL, 0);
}

static bool has_failed(const struct query_run *q, int host)
{
    return !q->answers[host].said || q->answers[host].error[0];
}

/* Begins the next round. False: there is none. */
static bool round_next(struct query_run *q)
{
    int failed = 0;

    for (int i = 0; i < q->count; i++)
        failed += has_failed(q, i);
    if ((failed && !q->rounds->goes_on) || ++q->round >= q->rounds->count)
        return false;
    q->left = q->count - failed;
    for (int i = 0; i < q->count; i++)
        q->asked[i].is_over = has_failed(q, i);
    for (int i = 0; i < q->count; i++) {
        if (!q->asked[i].is_over && q->asked[i].ended) /* after its answer to the round before */
            host_finish(q, i, q->asked[i].ended);
        else if (!q->asked[i].is_over)
            host_ask(q, i);
    }
    return true;
}

static void hosts_ask(struct query_run *q, const struct host_list *hosts,
                      const struct channel_config *config)
{
    const struct agent_channel_events events = {on_frame, on_end, q};
    static const struct timeval interval = {.tv_sec = AGENT_HEARTBEAT_MS / 1000};
    struct fault why;

    if (q->rounds->count > 1)
        evtimer_add(q->pulse, &interval);

    for (int i = 0; i < q->count; i++) {
        q->answers[i].host = &hosts->hosts[i];
        if (agent_channel_open(&q->asked[i].channel, q->base, i, &hosts->hosts[i], config, &events,
                               &why))
            host_finish(q, i, why.text);
    }
    do {
        while (q->left > 0)
            event_base_loop(q->base, EVLOOP_ONCE);
    } while (round_next(q));
    /* Of several rounds each may need all agents, also those that have answered. */
    for (int i = 0; i < q->count && q->rounds->count > 1; i++)
        if (q->asked[i].channel && !q->asked[i].ended)
            agent_channel_send(q->asked[i].channel, LAUNCH_BYE, NULL, 0);
    event_base_loop(q->base, EVLOOP_NONBLOCK); /* sends the last BYE */
}

static void query_close(struct query_run *q)
{
    for (int i = 0; q->asked && i < q->count; i++)
        agent_channel_close(q->asked[i].channel);
    free(q->asked);
    if (q->deadline)
        event_free(q->deadline);
    if (q->pulse)
        event_free(q->pulse);
    if (q->base)
        event_base_free(q->base);
}

int query_run(struct query_answer **out, const struct host_list *hosts,
              const struct channel_config *config, const struct query_rounds *rounds,
              int timeout_ms, struct fault *why)
{
    struct query_run q = {
        .rounds = rounds, .count = hosts->count, .left = hosts->count, .timeout_ms = timeout_ms};
    void (*before)(int) = signal(SIGPIPE, SIG_IGN);
    int rc = 0;

    q.base = event_base_new();
    q.answers = calloc((size_t)q.count, sizeof(*q.answers));
    q.asked = calloc((size_t)q.count, sizeof(*q.asked));
    if (q.base) {
        q.deadline = evtimer_new(q.base, on_deadline, &q);
        q.pulse = event_new(q.base, -1, EV_PERSIST, on_pulse, &q);
    }
    if (!q.base || !q.answers || !q.asked || !q.deadline || !q.pulse) {
        rc = fault_set(why, ML_ERR_MEMORY, "out of memory");
        free(q.answers);
    } else {
        *out = q.answers; /* the questions of later rounds may need the addresses */
        hosts_ask(&q, hosts, config);
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

/* SPDX-License-Identifier: MIT */
#include "launcher/ask/query_watch.h"

#include "common/clock.h"
#include "launcher/ask/query_answer.h"
#include "launcher/wire/channel/agent_channel.h"
#include "launcher/wire/protocol/agent_protocol.h"

#include <event2/event.h>
#include <stdbool.h>
#include <stdlib.h>

enum { AGAIN_MS = 3000 }; /* from one attempt to reach a lost host to the next */

/* A host's channel. A question that comes before HELLO is asked after it. */
struct watched {
    struct agent_channel *channel;
    bool has_ended; /* the channel, or it was never open */
    bool is_greeted, is_asked, is_due;
    int64_t tried_ms; /* when it was last opened */
};

struct query_watch {
    struct event_base *base;
    const struct host_list *hosts;
    const struct channel_config *config;
    const json_t *question;
    struct query_watch_events events;
    struct watched *watched;
    struct event *pulse; /* so that an agent that is asked seldom does not take mlaunch for dead */
};

static void host_ask(struct query_watch *w, struct watched *one)
{
    one->is_due = false;
    one->is_asked = true;
    agent_channel_send_json(one->channel, LAUNCH_QUERY, json_deep_copy(w->question));
}

static void watch_on_frame(int host, const struct frame *f, void *arg)
{
    struct query_watch *w = arg;
    struct watched *one = &w->watched[host];
    struct hello_report hello;
    json_t *said = NULL;
    struct fault why;
    int rc = 0;

    if (f->type == AGENT_HELLO && !one->is_greeted) {
        rc = query_answer_hello(&hello, f, &why);
        one->is_greeted = !rc;
        if (!rc && one->is_due)
            host_ask(w, one);
    } else if (f->type == AGENT_ANSWER && one->is_asked) {
        one->is_asked = false;
        rc = query_answer_read(&said, f, &why);
        if (!rc)
            rc = w->events.on_answer(host, said, w->events.arg, &why);
        json_decref(said);
    } else if (f->type != AGENT_PONG) {
        rc = fault_set(&why, ML_ERR_REFUSED, "its agent sent a message out of turn");
    }
    if (rc)
        agent_channel_fail(one->channel, why.text);
}

static void watch_on_end(int host, const char *text, void *arg)
{
    struct query_watch *w = arg;

    w->watched[host].has_ended = true;
    w->events.on_failure(host, text, w->events.arg);
}

static void watch_on_pulse(evutil_socket_t fd, short what, void *arg)
{
    struct query_watch *w = arg;

    (void)fd, (void)what;
    for (int i = 0; i < w->hosts->count; i++) {
        struct watched *one = &w->watched[i];

        if (one->has_ended)
            continue;
        if (one->is_greeted)
            agent_channel_send(one->channel, LAUNCH_PING, NULL, 0);
        agent_channel_check_silence(one->channel, "");
    }
}

static void host_reach(struct query_watch *w, int host)
{
    const struct agent_channel_events events = {watch_on_frame, watch_on_end, w};
    struct watched *one = &w->watched[host];
    struct fault why;

    agent_channel_close(one->channel);
    *one = (struct watched){.tried_ms = clock_ms(), .is_due = true};
    if (agent_channel_open(&one->channel, w->base, host, &w->hosts->hosts[host], w->config, &events,
                           &why)) {
        one->has_ended = true;
        w->events.on_failure(host, why.text, w->events.arg);
    }
}

void query_watch_ask(struct query_watch *w)
{
    for (int i = 0; i < w->hosts->count; i++) {
        struct watched *one = &w->watched[i];

        if (one->has_ended && (!one->tried_ms || clock_ms() - one->tried_ms >= AGAIN_MS))
            host_reach(w, i);
        else if (!one->has_ended && one->is_greeted && !one->is_asked)
            host_ask(w, one);
    }
}

int query_watch_open(struct query_watch **out, struct event_base *base,
                     const struct host_list *hosts, const struct channel_config *config,
                     const json_t *question, const struct query_watch_events *events,
                     struct fault *why)
{
    static const struct timeval interval = {.tv_sec = AGENT_HEARTBEAT_MS / 1000};
    struct query_watch *w = calloc(1, sizeof(*w));

    if (!w)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    *w = (struct query_watch){
        .base = base, .hosts = hosts, .config = config, .question = question, .events = *events};
    w->watched = calloc((size_t)hosts->count + 1, sizeof(*w->watched));
    w->pulse = event_new(base, -1, EV_PERSIST, watch_on_pulse, w);
    if (!w->watched || !w->pulse || evtimer_add(w->pulse, &interval)) {
        query_watch_close(w);
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    }
    for (int i = 0; i < hosts->count; i++)
        w->watched[i].has_ended = true;
    *out = w;
    return 0;
}

void query_watch_close(struct query_watch *w)
{
    if (!w)
        return;
    for (int i = 0; w->watched && i < w->hosts->count; i++)
        agent_channel_close(w->watched[i].channel);
    if (w->pulse)
        event_free(w->pulse);
    free(w->watched);
    free(w);
}

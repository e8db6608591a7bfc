/* SPDX-License-Identifier: MIT */
#include "launcher/tools/top/top_sampler.h"

#include "common/clock.h"
#include "common/text/text_json.h"
#include "launcher/ask/query_watch.h"
#include "launcher/ask/started_here.h"

#include <event2/event.h>
#include <stdlib.h>

struct top_sampler {
    const struct query_command *c;
    struct query_channel channel;
    json_t *question;
    struct query_watch *watch;
    struct event *timer;
    int every_s;
    struct top_host *hosts;
    bool *is_awaited; /* for each host: since it was asked nothing has come */
    int awaited;
    top_sampler_on_change *on_change;
    void *arg;
};

static void host_settle(struct top_sampler *s, int host)
{
    bool is_last = s->is_awaited[host] && s->awaited == 1;

    s->awaited -= s->is_awaited[host];
    s->is_awaited[host] = false;
    s->on_change(is_last, s->arg);
}

static json_t *sampler_question(int host, void *arg)
{
    const struct top_sampler *s = arg;

    (void)host;
    return json_deep_copy(s->question);
}

static int sampler_on_answer(int host, json_t *said, void *arg, struct fault *why)
{
    struct top_sampler *s = arg;
    int rc;

    started_here_drop_idle(&s->c->here, said);
    rc = top_host_take(&s->hosts[host], said, clock_ns(), why);
    if (!rc)
        host_settle(s, host);
    return rc;
}

static void sampler_on_failure(int host, const char *text, void *arg)
{
    struct top_sampler *s = arg;

    top_host_fail(&s->hosts[host], text);
    host_settle(s, host);
}

static void sampler_on_timer(evutil_socket_t fd, short what, void *arg)
{
    struct top_sampler *s = arg;
    bool is_first = s->hosts[0].said == NULL && s->hosts[0].error[0] == '\0';
    const struct timeval next = {.tv_sec = is_first ? 1 : s->every_s};

    (void)fd, (void)what;
    evtimer_add(s->timer, &next);
    /* While some are awaited, this look continues; one that has failed is awaited no more. */
    for (int i = 0; i < s->c->hosts->count && s->awaited == 0; i++)
        s->is_awaited[i] = s->hosts[i].said || !s->hosts[i].error[0];
    s->awaited = 0;
    for (int i = 0; i < s->c->hosts->count; i++)
        s->awaited += s->is_awaited[i];
    query_watch_ask(s->watch);
    if (s->awaited == 0) /* all have failed before */
        s->on_change(true, s->arg);
}

int top_sampler_open(struct top_sampler **out, struct event_base *base,
                     const struct query_command *c, int every_s, top_sampler_on_change *on_change,
                     void *arg, struct fault *why)
{
    static const struct timeval now = {0};
    struct top_sampler *s = calloc(1, sizeof(*s));
    const struct query_watch_events events = {sampler_question, sampler_on_answer,
                                              sampler_on_failure, s};
    size_t count = (size_t)c->hosts->count;
    int rc;

    if (!s)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    *s = (struct top_sampler){.c = c, .every_s = every_s, .on_change = on_change, .arg = arg};
    rc = query_command_channel(&s->channel, c->options, c->plan, why);
    if (rc)
        goto fail;
    rc = fault_set(why, ML_ERR_MEMORY, "out of memory");
    s->question = json_pack("{ss so}", "what", "metrics", "job", text_json(c->job));
    s->hosts = calloc(count + 1, sizeof(*s->hosts));
    s->is_awaited = calloc(count + 1, sizeof(*s->is_awaited));
    s->timer = evtimer_new(base, sampler_on_timer, s);
    if (!s->question || !s->hosts || !s->is_awaited || !s->timer || evtimer_add(s->timer, &now))
        goto fail;
    for (size_t i = 0; i < count; i++)
        s->hosts[i].name = c->hosts->hosts[i].name;
    rc = query_watch_open(&s->watch, base, c->hosts, &s->channel.config, &events, why);
    if (rc)
        goto fail;
    *out = s;
    return 0;
fail:
    top_sampler_close(s);
    return rc;
}

void top_sampler_close(struct top_sampler *s)
{
    if (!s)
        return;
    query_watch_close(s->watch);
    for (int i = 0; s->hosts && i < s->c->hosts->count; i++)
        top_host_clear(&s->hosts[i]);
    if (s->timer)
        event_free(s->timer);
    json_decref(s->question);
    free(s->is_awaited);
    free(s->hosts);
    free(s);
}

const struct top_host *top_sampler_hosts(const struct top_sampler *s)
{
    return s->hosts;
}

/* SPDX-License-Identifier: MIT */
#include "launcher/tools/top/top_look.h"

#include "common/clock.h"
#include "common/text/text_json.h"
#include "launcher/ask/query_watch.h"

#include <event2/event.h>
#include <stdlib.h>

struct top_look {
    const struct query_command *c;
    struct query_channel channel;
    json_t *question;
    struct query_watch *watch;
    struct event *timer;
    int every_s;
    struct top_host *hosts;
    bool *is_awaited; /* of each host: since it was asked nothing has come */
    int awaited;
    top_look_on_change *on_change;
    void *arg;
};

static void host_settle(struct top_look *l, int host)
{
    bool is_last = l->is_awaited[host] && l->awaited == 1;

    l->awaited -= l->is_awaited[host];
    l->is_awaited[host] = false;
    l->on_change(is_last, l->arg);
}

static int look_on_answer(int host, json_t *said, void *arg, struct fault *why)
{
    struct top_look *l = arg;
    int rc = top_host_take(&l->hosts[host], said, clock_ns(), why);

    if (!rc)
        host_settle(l, host);
    return rc;
}

static void look_on_failure(int host, const char *text, void *arg)
{
    struct top_look *l = arg;

    top_host_fail(&l->hosts[host], text);
    host_settle(l, host);
}

static void look_on_timer(evutil_socket_t fd, short what, void *arg)
{
    struct top_look *l = arg;
    bool is_first = l->hosts[0].said == NULL && l->hosts[0].error[0] == '\0';
    const struct timeval next = {.tv_sec = is_first ? 1 : l->every_s};

    (void)fd, (void)what;
    evtimer_add(l->timer, &next);
    /* While some are awaited, this look goes on; one that has failed is awaited no more. */
    for (int i = 0; i < l->c->hosts->count && l->awaited == 0; i++)
        l->is_awaited[i] = l->hosts[i].said || !l->hosts[i].error[0];
    l->awaited = 0;
    for (int i = 0; i < l->c->hosts->count; i++)
        l->awaited += l->is_awaited[i];
    query_watch_ask(l->watch);
    if (l->awaited == 0) /* all have failed before */
        l->on_change(true, l->arg);
}

int top_look_open(struct top_look **out, struct event_base *base, const struct query_command *c,
                  int every_s, top_look_on_change *on_change, void *arg, struct fault *why)
{
    static const struct timeval now = {0};
    struct top_look *l = calloc(1, sizeof(*l));
    const struct query_watch_events events = {look_on_answer, look_on_failure, l};
    size_t count = (size_t)c->hosts->count;
    int rc;

    if (!l)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    *l = (struct top_look){.c = c, .every_s = every_s, .on_change = on_change, .arg = arg};
    rc = query_command_channel(&l->channel, c->options, c->plan, why);
    if (rc)
        goto fail;
    rc = fault_set(why, ML_ERR_MEMORY, "out of memory");
    l->question = json_pack("{ss so}", "what", "metrics", "job", text_json(c->job));
    l->hosts = calloc(count + 1, sizeof(*l->hosts));
    l->is_awaited = calloc(count + 1, sizeof(*l->is_awaited));
    l->timer = evtimer_new(base, look_on_timer, l);
    if (!l->question || !l->hosts || !l->is_awaited || !l->timer || evtimer_add(l->timer, &now))
        goto fail;
    for (size_t i = 0; i < count; i++)
        l->hosts[i].name = c->hosts->hosts[i].name;
    rc = query_watch_open(&l->watch, base, c->hosts, &l->channel.config, l->question, &events, why);
    if (rc)
        goto fail;
    *out = l;
    return 0;
fail:
    top_look_close(l);
    return rc;
}

void top_look_close(struct top_look *l)
{
    if (!l)
        return;
    query_watch_close(l->watch);
    for (int i = 0; l->hosts && i < l->c->hosts->count; i++)
        top_host_clear(&l->hosts[i]);
    if (l->timer)
        event_free(l->timer);
    json_decref(l->question);
    free(l->is_awaited);
    free(l->hosts);
    free(l);
}

const struct top_host *top_look_hosts(const struct top_look *l)
{
    return l->hosts;
}

/* SPDX-License-Identifier: MIT */
#include "launcher/ask/query_watch.h"

#include "common/clock.h"
#include "launcher/wire/channel/agent_session.h"

#include <stdlib.h>

enum { AGAIN_MS = 3000 }; /* from one attempt to reach a lost host to the next */

struct query_watch {
    struct agent_session *session;
    const struct host_list *hosts;
    struct query_watch_events events;
    int64_t *tried_ms; /* when each host was tried last; 0: not yet */
};

static void watch_ask(struct query_watch *w, int host)
{
    agent_session_ask(w->session, host, w->events.question(host, w->events.arg));
}

static int watch_on_hello(int host, const struct hello_report *hello, void *arg, struct fault *why)
{
    (void)hello, (void)why;
    watch_ask(arg, host);
    return 0;
}

static int watch_on_answer(int host, json_t *said, void *arg, struct fault *why)
{
    struct query_watch *w = arg;
    int rc = agent_session_check_error(said, why);

    return rc ? rc : w->events.on_answer(host, said, w->events.arg, why);
}

static void watch_on_end(int host, const char *text, void *arg)
{
    struct query_watch *w = arg;

    w->events.on_failure(host, text, w->events.arg);
}

void query_watch_ask(struct query_watch *w)
{
    for (int i = 0; i < w->hosts->count; i++) {
        const struct session_agent *a = agent_session_agent(w->session, i);

        if (a->is_greeted && !a->has_ended && !a->asked) {
            watch_ask(w, i);
        } else if (a->has_ended && (!w->tried_ms[i] || clock_ms() - w->tried_ms[i] >= AGAIN_MS)) {
            w->tried_ms[i] = clock_ms();
            agent_session_reach(w->session, i, &w->hosts->hosts[i]);
        }
    }
}

int query_watch_open(struct query_watch **out, struct event_base *base,
                     const struct host_list *hosts, const struct channel_config *config,
                     const struct query_watch_events *events, struct fault *why)
{
    struct query_watch *w = calloc(1, sizeof(*w));
    const struct agent_session_events ours = {
        .on_hello = watch_on_hello, .on_answer = watch_on_answer, .on_end = watch_on_end, .arg = w};
    int rc;

    if (!w)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    *w = (struct query_watch){.hosts = hosts, .events = *events};
    w->tried_ms = calloc((size_t)hosts->count + 1, sizeof(*w->tried_ms));
    rc = w->tried_ms ? agent_session_open(&w->session, base, hosts->count, config, &ours, why)
                     : fault_set(why, ML_ERR_MEMORY, "out of memory");
    if (rc)
        query_watch_close(w);
    else
        *out = w;
    return rc;
}

void query_watch_close(struct query_watch *w)
{
    if (!w)
        return;
    agent_session_close(w->session);
    free(w->tried_ms);
    free(w);
}

/* SPDX-License-Identifier: MIT */
#include "launcher/tools/sync/sync_session.h"

#include "common/log.h"
#include "common/text/printable.h"
#include "common/text/signal_text.h"
#include "launcher/ask/session_stop.h"
#include "launcher/wire/channel/agent_session.h"
#include "launcher/wire/protocol/agent_protocol.h"
#include "launcher/wire/protocol/agent_report.h"

#include <event2/event.h>
#include <signal.h>
#include <stdio.h>

struct session {
    struct sync_host *hosts;
    int count;
    const struct sync_settings *settings;
    struct event_base *base;
    struct agent_session *agents;
    struct sync_chains *chains;
    struct session_stop stop;
    struct event *signals[3]; /* those in `ending`; NULL: that one is ignored */
    bool is_over;
};

static void on_over(void *arg)
{
    struct session *s = arg;

    s->is_over = true;
    event_base_loopbreak(s->base);
}

static void on_end(int host, const char *text, void *arg)
{
    struct session *s = arg;
    struct sync_host *h = &s->hosts[host];

    if (s->is_over)
        return;
    snprintf(h->lost, sizeof(h->lost), "%s", text);
    printable_mend(h->lost, "");
    sync_chains_hide(s->chains);
    log_error("host %s: %s", h->host->name, h->lost);
    sync_chains_lose(s->chains, host);
}

static int on_hello(int host, const struct hello_report *hello, void *arg, struct fault *why)
{
    struct session *s = arg;
    const struct host *h = s->hosts[host].host;

    (void)why;
    sync_chains_begin(s->chains, host,
                      h->ips && h->ips[0] ? h->ips[0]
                      : hello->address[0] ? hello->address
                                          : hello->guess);
    return 0;
}

/* Its mlaunch-copier is missing, or has ended. */
static int refused_take(const struct frame *f, struct fault *why)
{
    struct refused_report refused;
    int rc = refused_report_parse(&refused, f, why);

    return rc ? rc : fault_set(why, ML_ERR_REFUSED, "%s", refused.text);
}

static int on_frame(int host, const struct frame *f, void *arg, struct fault *why)
{
    struct session *s = arg;

    if (s->is_over)
        return 0;
    if (f->type == AGENT_REFUSED)
        return refused_take(f, why);
    if (f->type != AGENT_SYNC || s->hosts[host].state == SYNC_HOST_OPENING)
        return agent_session_refuse(f, why);
    return sync_chains_take(s->chains, host, f, why);
}

static void on_pulse(void *arg)
{
    const struct session *s = arg;

    sync_chains_pulse(s->chains);
}

static const int ending[] = {SIGINT, SIGTERM, SIGHUP};

/* Ends as the signal would have, but not without a word. */
static void on_signal(evutil_socket_t signal_number, short what, void *arg)
{
    struct session *s = arg;
    int number = (int)signal_number, complete = 0;

    (void)what;
    sync_chains_hide(s->chains);
    for (int i = 0; i < s->count; i++)
        complete += s->hosts[i].state == SYNC_HOST_DONE;
    if (s->settings->is_comparing)
        log_error("ended by SIG%s", signal_text_name(number));
    else
        log_error("ended by SIG%s when %d of %d hosts had everything; the same command continues, "
                  "and until then what has come of a file stays there as .mlaunch-sync.*",
                  signal_text_name(number), complete, s->count);
    signal(number, SIG_DFL);
    raise(number);
}

static void on_stop(void *arg)
{
    const struct session *s = arg;

    sync_chains_hide(s->chains);
}

/* One that is ignored, as by nohup, stays so. */
static int signals_watch(struct session *s, struct fault *why)
{
    for (size_t i = 0; i < sizeof(ending) / sizeof(*ending); i++) {
        struct sigaction now;

        if (sigaction(ending[i], NULL, &now) || now.sa_handler == SIG_IGN)
            continue;
        s->signals[i] = evsignal_new(s->base, ending[i], on_signal, s);
        if (!s->signals[i] || evsignal_add(s->signals[i], NULL))
            return fault_set(why, ML_ERR_MEMORY, "out of memory");
    }
    return 0;
}

static int session_open(struct session *s, const struct sync_source *source,
                        const struct channel_config *config, struct fault *why)
{
    const struct agent_session_events events = {.on_hello = on_hello,
                                                .on_frame = on_frame,
                                                .on_end = on_end,
                                                .on_pulse = on_pulse,
                                                .arg = s};
    const struct sync_chains_config chains = {.hosts = s->hosts,
                                              .count = s->count,
                                              .source = source,
                                              .settings = s->settings,
                                              .on_over = on_over,
                                              .arg = s};
    int rc;

    s->base = event_base_new();
    if (!s->base)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    rc = signals_watch(s, why);
    if (!rc)
        rc = agent_session_open(&s->agents, s->base, s->count, config, &events, why);
    if (!rc)
        rc = sync_chains_open(&s->chains, s->base, &chains, why);
    s->stop = (struct session_stop){.session = s->agents, .on_stop = on_stop, .arg = s};
    return rc ? rc : session_stop_open(&s->stop, s->base, why);
}

static void session_close(struct session *s)
{
    session_stop_close(&s->stop);
    agent_session_close(s->agents);
    for (int i = 0; i < s->count; i++)
        s->hosts[i].channel = NULL;
    for (size_t i = 0; i < sizeof(s->signals) / sizeof(*s->signals); i++)
        if (s->signals[i])
            event_free(s->signals[i]);
    sync_chains_close(s->chains);
    if (s->base)
        event_base_free(s->base);
}

int sync_session_run(struct sync_host *hosts, int count, const struct sync_source *source,
                     const struct sync_settings *settings, const struct channel_config *config,
                     uint64_t *lost, struct fault *why)
{
    struct session s = {.hosts = hosts, .count = count, .settings = settings};
    void (*before)(int) = signal(SIGPIPE, SIG_IGN);
    int rc = session_open(&s, source, config, why);

    if (!rc) {
        for (int i = 0; i < count; i++)
            hosts[i].channel = agent_session_reach(s.agents, i, hosts[i].host);
        if (!s.is_over)
            event_base_dispatch(s.base);
        sync_chains_hide(s.chains);
        agent_session_bye(s.agents);
        event_base_loop(s.base, EVLOOP_NONBLOCK); /* sends them */
        *lost = sync_chains_lost(s.chains);
    }
    session_close(&s);
    signal(SIGPIPE, before);
    return rc;
}

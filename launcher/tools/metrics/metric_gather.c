/* SPDX-License-Identifier: MIT */
#include "launcher/tools/metrics/metric_gather.h"

#include "common/clock.h"
#include "common/log.h"
#include "common/text/text_json.h"
#include "launcher/ask/query_command.h"
#include "launcher/ask/query_watch.h"
#include "launcher/base/text/string_list.h"
#include "launcher/input/options/options.h"
#include "launcher/tools/metrics/metric_hook.h"
#include "launcher/tools/metrics/metric_hosts.h"
#include "launcher/tools/metrics/metric_jobs.h"
#include "launcher/tools/metrics/metric_lines.h"
#include "launcher/tools/metrics/metric_page.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

static const struct metric_family
    duration = {"mlaunch_metrics_duration_seconds", "gauge",
                "How long it took to gather all metrics."},
    command_ok =
        {"mlaunch_metrics_command_success", "gauge",
         "1 if the command of --command has printed metrics and ended with status 0, else 0."},
    command_refused = {"mlaunch_metrics_command_refused_lines", "gauge",
                       "Lines of that command that were left out."};

struct gathered_host {
    json_t *said; /* for this page, or NULL */
    bool is_awaited;
    bool is_missed; /* it has failed, or was not in time; it has said nothing since */
};

struct metric_gather {
    struct event_base *base;
    const struct query_command *c;
    const char *sysfs, *command;
    struct query_channel channel;
    struct query_watch *watch;
    struct gathered_host *hosts;
    struct event *hosts_end; /* no host is awaited any more */

    /* The page that is being gathered. */
    struct metric_patience patience;
    metric_gather_on_page *on_page; /* NULL: none is */
    void *arg;
    int64_t began_ns;
    int awaited;
    bool are_hosts_in;
    struct metric_hook *hook;
    struct metric_lines lines; /* the command's */
    bool has_command_failed;
};

/* --- the page --------------------------------------------------------------------------------- */

static int answers_add(const struct metric_gather *g, struct metric_page *p)
{
    bool is_named = g->c->options->hosts || g->c->options->hostfile;
    int lacking = 0;

    for (int i = 0; i < g->c->hosts->count; i++) {
        metric_page_set_host(p, is_named ? g->c->hosts->hosts[i].name : NULL);
        metric_hosts_add(p, g->hosts[i].said);
        metric_jobs_add(p, g->hosts[i].said);
        lacking += !g->hosts[i].said;
    }
    metric_page_set_host(p, NULL);
    return lacking;
}

/* NULL: out of memory. */
static char *page_text(const struct metric_gather *g, int *lacking)
{
    struct metric_page *p = metric_page_create();
    char *text = NULL, *all = NULL;
    struct fault why;

    if (!p)
        return NULL;
    *lacking = answers_add(g, p);
    if (g->command) {
        metric_page_add(p, &command_ok, !g->has_command_failed && g->lines.text && *g->lines.text,
                        NULL);
        metric_page_add(p, &command_refused, g->lines.refused, NULL);
    }
    metric_page_add(p, &duration, (double)(clock_ns() - g->began_ns) / 1e9, NULL);
    text = metric_page_text(p);
    metric_page_destroy(p);
    if (text && string_format(&all, &why, "%s%s", text, g->lines.text ? g->lines.text : ""))
        all = NULL;
    free(text);
    return all;
}

/* Makes the page, if everything is there. */
static void gather_conclude(struct metric_gather *g)
{
    metric_gather_on_page *on_page = g->on_page;
    int lacking = 0;
    char *page;

    if (!on_page || !g->are_hosts_in || g->hook)
        return;
    page = page_text(g, &lacking);
    g->on_page = NULL;
    on_page(page, lacking, g->arg);
    free(page);
}

/* --- the command ------------------------------------------------------------------------------ */

/* A command that fails costs nothing else. */
static void gather_on_printed(char *printed, const struct fault *said, void *arg)
{
    struct metric_gather *g = arg;
    struct fault why = *said;

    g->hook = NULL;
    g->has_command_failed = why.text[0] != '\0';
    if (g->has_command_failed)
        log_warn("%s", why.text);
    if (printed && metric_lines_check(&g->lines, printed, &why))
        log_warn("%s", why.text);
    if (g->lines.refused > 0)
        log_warn("--command %.200s: line %d is left out, and %d in all: %s", g->command,
                 g->lines.first, g->lines.refused, g->lines.reason.text);
    gather_conclude(g);
}

static void command_start(struct metric_gather *g)
{
    struct fault why;

    if (metric_hook_start(&g->hook, g->base, g->command, g->patience.command_ms, gather_on_printed,
                          g, &why)) {
        g->has_command_failed = true;
        log_warn("%s", why.text);
    }
}

/* --- the hosts -------------------------------------------------------------------------------- */

static json_t *gather_question(int host, void *arg)
{
    const struct metric_gather *g = arg;
    json_t *question = json_pack("{ss}", "what", "metrics");
    char root[PATH_MAX];

    if (g->sysfs) {
        snprintf(root, sizeof(root), "%s/%s", g->sysfs, g->c->hosts->hosts[host].name);
        json_object_set_new(question, "root", text_json(root));
    }
    return question;
}

static void host_settle(struct metric_gather *g, int host)
{
    static const struct timeval now = {0};

    if (!g->hosts[host].is_awaited)
        return;
    g->hosts[host].is_awaited = false;
    if (--g->awaited == 0)
        evtimer_add(g->hosts_end, &now); /* not here: the watch must not be closed meanwhile */
}

/* An answer that comes too late for its page is too old for the next one. */
static int gather_on_answer(int host, json_t *said, void *arg, struct fault *why)
{
    struct metric_gather *g = arg;
    struct gathered_host *h = &g->hosts[host];

    if (!json_is_object(json_object_get(said, "system")))
        return fault_set(why, ML_ERR_REFUSED,
                         "its agent sent a malformed ANSWER: \"system\" is not an object");
    if (h->is_missed)
        log_info("host %s: answers again", g->c->hosts->hosts[host].name);
    h->is_missed = false;
    if (h->is_awaited)
        h->said = json_incref(said);
    host_settle(g, host);
    return 0;
}

/* Says so once, until the host answers again. */
static void gather_on_failure(int host, const char *text, void *arg)
{
    struct metric_gather *g = arg;

    if (!g->hosts[host].is_missed)
        log_error("host %s: %s", g->c->hosts->hosts[host].name, text);
    g->hosts[host].is_missed = true;
    host_settle(g, host);
}

static void gather_on_hosts_end(evutil_socket_t fd, short what, void *arg)
{
    struct metric_gather *g = arg;

    (void)fd, (void)what;
    for (int i = 0; i < g->c->hosts->count; i++) {
        if (!g->hosts[i].is_awaited)
            continue;
        log_error("host %s: has not answered within %.3g s; its metrics are missing until it does",
                  g->c->hosts->hosts[i].name, g->patience.hosts_ms / 1e3);
        g->hosts[i].is_awaited = false;
        g->hosts[i].is_missed = true;
    }
    g->awaited = 0;
    g->are_hosts_in = true;
    gather_conclude(g);
}

void metric_gather_page(struct metric_gather *g, const struct metric_patience *patience,
                        metric_gather_on_page *on_page, void *arg)
{
    struct timeval limit = {patience->hosts_ms / 1000, patience->hosts_ms % 1000 * 1000L};

    g->patience = *patience;
    g->on_page = on_page;
    g->arg = arg;
    g->began_ns = clock_ns();
    g->are_hosts_in = g->has_command_failed = false;
    free(g->lines.text);
    g->lines = (struct metric_lines){0};
    for (int i = 0; i < g->c->hosts->count; i++) {
        json_decref(g->hosts[i].said);
        g->hosts[i].said = NULL;
        g->hosts[i].is_awaited = !g->hosts[i].is_missed;
        g->awaited += g->hosts[i].is_awaited;
    }
    if (g->awaited == 0)
        limit = (struct timeval){0};
    evtimer_add(g->hosts_end, &limit);
    if (g->command)
        command_start(g);
    query_watch_ask(g->watch);
}

int metric_gather_open(struct metric_gather **out, struct event_base *base,
                       const struct query_command *c, const char *sysfs, const char *command,
                       struct fault *why)
{
    struct metric_gather *g = calloc(1, sizeof(*g));
    const struct query_watch_events events = {gather_question, gather_on_answer, gather_on_failure,
                                              g};
    int rc;

    if (!g)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    *g = (struct metric_gather){.base = base, .c = c, .sysfs = sysfs, .command = command};
    rc = query_command_channel(&g->channel, c->options, c->plan, why);
    if (rc)
        goto fail;
    g->hosts = calloc((size_t)c->hosts->count + 1, sizeof(*g->hosts));
    g->hosts_end = evtimer_new(base, gather_on_hosts_end, g);
    rc = g->hosts && g->hosts_end
             ? query_watch_open(&g->watch, base, c->hosts, &g->channel.config, &events, why)
             : fault_set(why, ML_ERR_MEMORY, "out of memory");
    if (rc)
        goto fail;
    query_watch_ask(g->watch);
    *out = g;
    return 0;
fail:
    metric_gather_close(g);
    return rc;
}

void metric_gather_close(struct metric_gather *g)
{
    if (!g)
        return;
    metric_hook_cancel(g->hook);
    query_watch_close(g->watch);
    if (g->hosts_end)
        event_free(g->hosts_end);
    for (int i = 0; g->hosts && i < g->c->hosts->count; i++)
        json_decref(g->hosts[i].said);
    free(g->hosts);
    free(g->lines.text);
    free(g);
}

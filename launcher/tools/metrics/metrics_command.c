/* SPDX-License-Identifier: MIT */
/* metrics_command.c: `mlaunch metrics` prints what Prometheus reads, writes it to a file every few
 * seconds, or serves it. */
#include "launcher/tools/metrics/metrics_command.h"

#include "common/clock.h"
#include "common/log.h"
#include "common/status.h"
#include "common/text/number.h"
#include "launcher/ask/query_command.h"
#include "launcher/base/text/result_file.h"
#include "launcher/input/options/options.h"
#include "launcher/tools/metrics/metric_gather.h"
#include "launcher/tools/metrics/metric_hook.h"
#include "launcher/tools/metrics/metric_server.h"

#include <event2/event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

enum {
    ONCE_MS = 20000, /* for a host's answer, if there is but one page */
    HOSTS_MS = 2000, /* if there are more: nobody waits longer for a page */
    EVERY_MOST_S = 86400
};

struct metrics_run {
    struct query_command c;
    const char *sysfs, *command, *listen, *output;
    int64_t every_s; /* 0: once */
    struct event_base *base;
    struct metric_gather *gather;
    int rc;
    struct fault *why;
};

/* --- once, or every few seconds --------------------------------------------------------------- */

struct metrics_writer {
    struct metrics_run *m;
    struct event *timer;
    int64_t next_ms;
    int lacking; /* hosts of the last page */
};

static int page_write(const struct metrics_run *m, const char *page, struct fault *why)
{
    struct result_file f;
    int rc;

    if (!page)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    if (!m->output) {
        fputs(page, stdout);
        return fflush(stdout) ? fault_set(why, ML_ERR_SYSTEM, "cannot write to standard output")
                              : 0;
    }
    rc = result_file_open(&f, "--output", m->output, why);
    if (rc)
        return rc;
    fputs(page, f.file);
    return result_file_close(&f, why);
}

/* A page that fails is reported, and the next one tried. Those that would be due already are left
 * out. */
static void writer_on_page(const char *page, int lacking, void *arg)
{
    struct metrics_writer *w = arg;
    int64_t every_ms = w->m->every_s * 1000, now_ms = clock_ms();
    struct timeval next;

    w->lacking = lacking;
    w->m->rc = page_write(w->m, page, w->m->why);
    if (!w->m->every_s) {
        event_base_loopbreak(w->m->base);
        return;
    }
    if (w->m->rc)
        log_error("%s", w->m->why->text);
    w->m->rc = 0;
    while (w->next_ms <= now_ms)
        w->next_ms += every_ms;
    next = (struct timeval){(w->next_ms - now_ms) / 1000, (w->next_ms - now_ms) % 1000 * 1000};
    evtimer_add(w->timer, &next);
}

static void writer_on_timer(evutil_socket_t fd, short what, void *arg)
{
    struct metrics_writer *w = arg;
    int once_ms = ONCE_MS + w->m->c.options->ssh_connect_timeout_s * 1000;
    const struct metric_patience patience = {w->m->every_s ? HOSTS_MS : once_ms, METRIC_HOOK_MS};

    (void)fd, (void)what;
    metric_gather_page(w->m->gather, &patience, writer_on_page, w);
}

static int metrics_print(struct metrics_run *m, int *lacking, struct fault *why)
{
    static const struct timeval now = {0};
    struct metrics_writer w = {.m = m, .next_ms = clock_ms()};
    int rc = m->output ? result_file_check("--output", m->output, why) : 0;

    if (rc)
        return rc;
    umask(022); /* the collector of node_exporter is another user */
    w.timer = evtimer_new(m->base, writer_on_timer, &w);
    if (!w.timer || evtimer_add(w.timer, &now))
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    event_base_dispatch(m->base);
    event_free(w.timer);
    *lacking = w.lacking;
    return m->rc;
}

/* --- the server ------------------------------------------------------------------------------- */

struct metrics_service {
    struct metric_gather *gather;
    struct metric_server *server;
};

static void service_on_page(const char *page, int lacking, void *arg)
{
    struct metrics_service *s = arg;

    (void)lacking;
    metric_server_give(s->server, page);
}

static void service_on_wanted(int patience_ms, void *arg)
{
    struct metrics_service *s = arg;
    const struct metric_patience patience = {patience_ms < HOSTS_MS ? patience_ms : HOSTS_MS,
                                             patience_ms < METRIC_HOOK_MS ? patience_ms
                                                                          : METRIC_HOOK_MS};

    metric_gather_page(s->gather, &patience, service_on_page, s);
}

static void service_on_signal(evutil_socket_t signal, short what, void *arg)
{
    (void)signal;
    (void)what;
    event_base_loopbreak(arg);
}

static int metrics_serve(struct metrics_run *m, struct fault *why)
{
    struct event *term = evsignal_new(m->base, SIGTERM, service_on_signal, m->base);
    struct event *interrupt = evsignal_new(m->base, SIGINT, service_on_signal, m->base);
    struct metrics_service s = {.gather = m->gather};
    int rc = metric_server_open(&s.server, m->base, m->listen, service_on_wanted, &s, why);

    signal(SIGPIPE, SIG_IGN);
    if (!rc && (!term || !interrupt || event_add(term, NULL) || event_add(interrupt, NULL)))
        rc = fault_set(why, ML_ERR_MEMORY, "out of memory");
    if (!rc) {
        printf("http://%s/metrics\n", metric_server_address(s.server));
        fflush(stdout);
        event_base_dispatch(m->base);
    }
    metric_server_close(s.server);
    if (term)
        event_free(term);
    if (interrupt)
        event_free(interrupt);
    return rc;
}

static int metrics_work(struct metrics_run *m, int *lacking, struct fault *why)
{
    int rc;

    m->why = why;
    m->base = event_base_new();
    if (!m->base)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    rc = metric_gather_open(&m->gather, m->base, &m->c, m->sysfs, m->command, why);
    if (!rc)
        rc = m->listen ? metrics_serve(m, why) : metrics_print(m, lacking, why);
    metric_gather_close(m->gather);
    event_base_free(m->base);
    return rc;
}

/* --- options ---------------------------------------------------------------------------------- */

static int options_check(struct metrics_run *m, struct fault *why)
{
    const char *every = query_command_flag(&m->c, "every");

    m->sysfs = query_command_flag(&m->c, "sysfs");
    m->command = query_command_flag(&m->c, "command");
    m->listen = query_command_flag(&m->c, "listen");
    m->output = query_command_flag(&m->c, "output");
    if (every && !number_parse(every, 1, EVERY_MOST_S, &m->every_s))
        return fault_set(why, ML_ERR_ARGUMENT, "--every needs a number of seconds from 1 to %d",
                         EVERY_MOST_S);
    if (every && !m->output)
        return fault_set(why, ML_ERR_ARGUMENT,
                         "--every is for --output FILE, which is written again and again");
    if (m->listen && m->output)
        return fault_set(why, ML_ERR_ARGUMENT,
                         "--listen and --output do not go together: start one mlaunch metrics for "
                         "each");
    return 0;
}

int metrics_command_run(int argc, char **argv)
{
    static const struct option flags[] = {
        {.name = "listen",
         .argument = "[ADDRESS:]PORT",
         .otherwise = "9764",
         .takes_word = true,
         .help = "serve them at http://ADDRESS:PORT/metrics; default 127.0.0.1:9764"},
        {.name = "output",
         .letter = 'o',
         .argument = "FILE",
         .help = "write them to FILE, which is replaced at once, for node_exporter's collector "
                 "textfile"},
        {.name = "every",
         .argument = "SECONDS",
         .help = "write FILE again every SECONDS, until mlaunch is ended"},
        {.name = "command",
         .argument = "CMD",
         .help = "add what CMD prints, such as metrics of GPUs: names that begin with "
                 "mlaunch_gpu_ or mlaunch_local_"},
        {.name = "sysfs",
         .argument = "DIR",
         .help = "show recorded machines: DIR/HOST/sys and DIR/HOST/proc on each host"},
        {0}};
    struct metrics_run m = {
        .c = {.syntax = {
                  .name = "metrics",
                  .usage =
                      "usage: mlaunch metrics [OPTIONS]\n\n"
                      "Prints metrics of this machine, its RDMA ports, the jobs on it and their\n"
                      "ranks as Prometheus reads them. With -H also those of other hosts.",
                  .own = flags}}};
    struct fault why;
    int lacking = 0, rc = query_command_open(&m.c, argc, argv, &why);

    if (!rc && !m.c.is_done)
        rc = options_check(&m, &why);
    if (!rc && !m.c.is_done)
        rc = metrics_work(&m, &lacking, &why);
    if (rc)
        log_error("%s", why.text);
    query_command_close(&m.c);
    return rc || lacking ? STATUS_OURS : 0;
}

/* SPDX-License-Identifier: MIT */
/* metrics_command.c: `mlaunch metrics` prints what Prometheus reads, writes it to a file every few
 * seconds, or serves it. */
#include "launcher/tools/metrics/metrics_command.h"

#include "common/clock.h"
#include "common/log.h"
#include "common/status.h"
#include "common/text/number.h"
#include "common/text/text_json.h"
#include "common/text/text_stream.h"
#include "launcher/ask/query_command.h"
#include "launcher/base/process/install_path.h"
#include "launcher/base/text/result_file.h"
#include "launcher/input/options/options.h"
#include "launcher/tools/metrics/metric_hook.h"
#include "launcher/tools/metrics/metric_hosts.h"
#include "launcher/tools/metrics/metric_jobs.h"
#include "launcher/tools/metrics/metric_lines.h"
#include "launcher/tools/metrics/metric_page.h"
#include "launcher/tools/metrics/metric_server.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

enum { TIMEOUT_MS = 20000, EVERY_MOST_S = 86400 };

static const struct metric_family
    duration = {"mlaunch_metrics_duration_seconds", "gauge",
                "How long it took to gather all metrics."},
    command_ok = {"mlaunch_metrics_command_success", "gauge",
                  "1 if the command of --command has printed metrics, else 0."},
    command_refused = {"mlaunch_metrics_command_refused_lines", "gauge",
                       "Lines of that command that were left out."};

struct metrics_run {
    struct query_command c;
    const char *sysfs, *command, *listen, *output;
    int64_t every_s; /* 0: once */
    int unreached;   /* hosts of the last page */
};

/* --- a page ----------------------------------------------------------------------------------- */

static json_t *question_make(void *arg, int host, int round)
{
    const struct metrics_run *m = arg;
    json_t *question = json_pack("{ss}", "what", "metrics");
    char root[PATH_MAX];

    (void)round;
    if (m->sysfs) {
        snprintf(root, sizeof(root), "%s/%s", m->sysfs, m->c.hosts->hosts[host].name);
        json_object_set_new(question, "root", text_json(root));
    }
    return question;
}

static int answer_take(void *arg, int host, int round, const json_t *said, struct fault *why)
{
    (void)arg, (void)host, (void)round;
    if (json_is_object(json_object_get(said, "system")))
        return 0;
    return fault_set(why, ML_ERR_REFUSED,
                     "its agent sent a malformed ANSWER: \"system\" is not an object");
}

/* Adds what --command prints; *text is that, or NULL. A command that fails costs nothing else. */
static void command_add(const struct metrics_run *m, struct metric_page *p, char **text)
{
    struct metric_lines lines = {0};
    char *printed = NULL;
    struct fault why;
    int rc = metric_hook_run(&printed, m->command, &why);

    if (!rc)
        rc = metric_lines_check(&lines, printed, &why);
    if (rc)
        log_warn("%s", why.text);
    if (lines.refused > 0)
        log_warn("--command %.200s: line %d is left out, and %d in all: %s", m->command,
                 lines.first, lines.refused, lines.reason.text);
    metric_page_add(p, &command_ok, lines.text && *lines.text, NULL);
    metric_page_add(p, &command_refused, lines.refused, NULL);
    *text = lines.text;
    free(printed);
}

/* With -H every sample has its host's name. */
static void answers_add(struct metrics_run *m, struct metric_page *p)
{
    bool is_named = m->c.options->hosts || m->c.options->hostfile;

    for (int i = 0; i < m->c.hosts->count; i++) {
        const struct query_answer *a = &m->c.answers[i];

        metric_page_set_host(p, is_named ? a->host->name : NULL);
        metric_hosts_add(p, a->said);
        metric_jobs_add(p, a->said);
    }
    metric_page_set_host(p, NULL);
}

/* *out is the caller's. */
static int page_make(struct metrics_run *m, char **out, struct fault *why)
{
    const struct query_rounds rounds = {
        .count = 1, .question = question_make, .take = answer_take, .arg = m};
    struct metric_page *p = metric_page_create();
    int64_t began = clock_ns();
    char *text = NULL, *more = NULL;
    int rc;

    query_free(m->c.answers, m->c.hosts->count);
    m->c.answers = NULL;
    rc = query_command_ask_rounds(&m->c, &rounds, why);
    if (!rc) {
        m->unreached = query_command_report_failed(&m->c);
        if (p)
            answers_add(m, p);
        if (p && m->command)
            command_add(m, p, &more);
        if (p)
            metric_page_add(p, &duration, (double)(clock_ns() - began) / 1e9, NULL);
        text = p ? metric_page_text(p) : NULL;
        rc = text ? string_format(out, why, "%s%s", text, more ? more : "")
                  : fault_set(why, ML_ERR_MEMORY, "out of memory");
    }
    free(text);
    free(more);
    metric_page_destroy(p);
    return rc;
}

/* --- where it goes ---------------------------------------------------------------------------- */

static int page_write(const struct metrics_run *m, const char *page, struct fault *why)
{
    struct result_file f;
    int rc;

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

/* Once, or every few seconds for good. A page that fails is reported, and the next one tried. */
static int metrics_print(struct metrics_run *m, struct fault *why)
{
    struct timespec next;
    int rc = m->output ? result_file_check("--output", m->output, why) : 0;

    umask(022); /* the collector of node_exporter is another user */
    clock_gettime(CLOCK_MONOTONIC, &next);
    while (!rc) {
        char *page = NULL;

        rc = page_make(m, &page, why);
        if (!rc)
            rc = page_write(m, page, why);
        free(page);
        if (!m->every_s)
            return rc;
        if (rc)
            log_error("%s", why->text);
        rc = 0;
        next.tv_sec += m->every_s;
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
    }
    return rc;
}

static void server_on_signal(evutil_socket_t signal, short what, void *arg)
{
    (void)signal;
    (void)what;
    event_base_loopbreak(arg);
}

static int server_run(struct event_base *base, const char *where, char *const argv[],
                      struct fault *why)
{
    struct event *term = evsignal_new(base, SIGTERM, server_on_signal, base);
    struct event *interrupt = evsignal_new(base, SIGINT, server_on_signal, base);
    struct metric_server *s = NULL;
    int rc = metric_server_open(&s, base, where, argv, why);

    signal(SIGPIPE, SIG_IGN);
    if (!rc && (!term || !interrupt || event_add(term, NULL) || event_add(interrupt, NULL)))
        rc = fault_set(why, ML_ERR_MEMORY, "out of memory");
    if (!rc) {
        printf("http://%s/metrics\n", metric_server_address(s));
        fflush(stdout);
        event_base_dispatch(base);
    }
    metric_server_close(s);
    if (term)
        event_free(term);
    if (interrupt)
        event_free(interrupt);
    return rc;
}

/* The command line that prints a page: this one without --listen. */
static int words_make(struct string_list *words, const struct command_line *line, struct fault *why)
{
    char self[PATH_MAX];
    const char *const first[] = {self, line->syntax->name, NULL};
    int rc = install_path_find(self, INSTALL_MLAUNCH, why);

    if (!rc)
        rc = string_list_add_all(words, (char *const *)first, why);
    if (!rc)
        rc = string_list_add_all(words, line->borrowed.items, why);
    return rc ? rc : string_list_add_all(words, line->own.items, why);
}

static int metrics_serve(const struct metrics_run *m, struct fault *why)
{
    struct event_base *base = event_base_new();
    struct string_list words = {0};
    int rc = words_make(&words, &m->c.line, why);

    if (!rc && !base)
        rc = fault_set(why, ML_ERR_MEMORY, "out of memory");
    if (!rc)
        rc = server_run(base, m->listen, words.items, why);
    string_list_clear(&words);
    if (base)
        event_base_free(base);
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
         .scope = OPTION_COMMAND, /* not that of the child which prints a page */
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
        .c = {.syntax =
                  {.name = "metrics",
                   .usage =
                       "usage: mlaunch metrics [OPTIONS]\n\n"
                       "Prints metrics of this machine, its RDMA ports, the jobs on it and their\n"
                       "ranks as Prometheus reads them. With -H also those of other hosts.",
                   .own = flags},
              .timeout_ms = TIMEOUT_MS}};
    struct fault why;
    int rc = query_command_open(&m.c, argc, argv, &why);

    if (!rc && !m.c.is_done)
        rc = options_check(&m, &why);
    if (!rc && !m.c.is_done)
        rc = m.listen ? metrics_serve(&m, &why) : metrics_print(&m, &why);
    if (rc)
        log_error("%s", why.text);
    query_command_close(&m.c);
    return rc || m.unreached ? STATUS_OURS : 0;
}

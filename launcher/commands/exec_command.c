/* SPDX-License-Identifier: MIT */
#include "launcher/commands/exec_command.h"

#include "common/log.h"
#include "common/status.h"
#include "common/text/signal_text.h"
#include "launcher/commands/exec_host.h"
#include "launcher/commands/exec_output.h"
#include "launcher/input/options/options_load.h"
#include "launcher/input/plan/plan_create.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { AT_ONCE = 64 /* hosts; each is a process here, and a login there */ };

static const int forwarded[] = {SIGINT, SIGTERM, SIGHUP};
enum { FORWARDED = sizeof(forwarded) / sizeof(*forwarded) };

struct exec_run {
    struct plan *plan;
    struct event_base *base;
    struct event *signals[FORWARDED], *child_ended;
    const char **names;
    struct exec_host *hosts; /* one for each rank of the plan */
    struct exec_output *output;
    int started, ended;
    int end_signal;
    struct fault failed; /* what went wrong here; the rest is ended then */
    bool json;
};

static void children_signal(const struct exec_run *r, int signal)
{
    for (int i = 0; i < r->started; i++) {
        if (r->hosts[i].pid)
            kill(r->hosts[i].pid, signal);
    }
}

/* What cannot be gathered ends the other commands. */
static void run_fail(struct exec_run *r, const struct fault *why)
{
    if (r->failed.code)
        return;
    r->failed = *why;
    children_signal(r, SIGTERM);
}

/* Reads what there is of a stream. */
static void stream_read(struct exec_run *r, int host, int stream)
{
    struct exec_host *h = &r->hosts[host];
    char bytes[64 << 10];
    struct fault why;
    ssize_t size;

    while (h->fds[stream - 1] >= 0) {
        size = read(h->fds[stream - 1], bytes, sizeof(bytes));
        if (size < 0 && errno == EINTR)
            continue;
        if (size < 0 && errno == EAGAIN)
            return;
        if (size <= 0)
            exec_host_close(h, stream);
        else if (!r->failed.code &&
                 exec_output_add(r->output, host, stream, bytes, (size_t)size, &why))
            run_fail(r, &why);
    }
}

static void on_bytes(evutil_socket_t fd, short what, void *arg)
{
    struct exec_host *h = arg;

    (void)what;
    stream_read(h->run, h->rank, h->fds[0] == fd ? 1 : 2);
}

static void hosts_start(struct exec_run *r)
{
    struct fault why;

    while (r->started < r->plan->size && r->started - r->ended < AT_ONCE && !r->end_signal &&
           !r->failed.code) {
        struct exec_host *h = &r->hosts[r->started];

        h->run = r;
        h->rank = r->started++;
        if (exec_host_start(h, r->base, r->plan, on_bytes, &why)) {
            exec_output_end(r->output, h->rank, STATUS_OURS);
            r->ended++;
            run_fail(r, &why);
        }
    }
}

static void host_end(struct exec_run *r, int host, int status)
{
    for (int stream = 1; stream <= 2; stream++) {
        stream_read(r, host, stream);
        exec_host_close(&r->hosts[host], stream);
    }
    r->hosts[host].pid = 0;
    exec_output_end(r->output, host,
                    WIFEXITED(status) ? WEXITSTATUS(status) : STATUS_SIGNAL + WTERMSIG(status));
    r->ended++;
}

static void on_child_ended(evutil_socket_t signal, short what, void *arg)
{
    struct exec_run *r = arg;
    int status;

    (void)signal, (void)what;
    for (int i = 0; i < r->started; i++) {
        if (r->hosts[i].pid && waitpid(r->hosts[i].pid, &status, WNOHANG) == r->hosts[i].pid)
            host_end(r, i, status);
    }
    hosts_start(r);
}

/* Ctrl-C reaches the children by itself; they take both for one. */
static void on_end_signal(evutil_socket_t signal, short what, void *arg)
{
    struct exec_run *r = arg;

    (void)what;
    r->end_signal = (int)signal;
    children_signal(r, (int)signal);
}

static int signal_watch(struct exec_run *r, struct event **out, int signal, event_callback_fn call,
                        struct fault *why)
{
    *out = evsignal_new(r->base, signal, call, r);
    if (*out && event_add(*out, NULL) == 0)
        return 0;
    return fault_set(why, ML_ERR_SYSTEM, "cannot watch for SIG%s", signal_text_name(signal));
}

static int run_open(struct exec_run *r, struct fault *why)
{
    int rc = 0;

    r->base = event_base_new();
    r->names = calloc((size_t)r->plan->size, sizeof(*r->names));
    r->hosts = calloc((size_t)r->plan->size, sizeof(*r->hosts));
    if (!r->base || !r->names || !r->hosts)
        return fault_set(why, ML_ERR_MEMORY, "out of memory for %d hosts", r->plan->size);
    for (int i = 0; i < r->plan->size; i++)
        r->names[i] = plan_host(r->plan, r->plan->ranks[i].host)->name;
    r->output = exec_output_create(r->names, r->plan->size, r->json);
    if (!r->output)
        return fault_set(why, ML_ERR_MEMORY, "out of memory for %d hosts", r->plan->size);
    for (int i = 0; i < FORWARDED && !rc; i++)
        rc = signal_watch(r, &r->signals[i], forwarded[i], on_end_signal, why);
    return rc ? rc : signal_watch(r, &r->child_ended, SIGCHLD, on_child_ended, why);
}

static void run_close(struct exec_run *r)
{
    for (int i = 0; i < FORWARDED; i++) {
        if (r->signals[i])
            event_free(r->signals[i]);
    }
    if (r->child_ended)
        event_free(r->child_ended);
    exec_output_destroy(r->output);
    if (r->base)
        event_base_free(r->base);
    free(r->names);
    free(r->hosts);
}

static int run_print(struct exec_run *r, struct fault *why)
{
    json_t *list, *all;
    int rc;

    if (!r->json)
        return exec_output_print(r->output, why);
    list = exec_output_json(r->output);
    all = list ? json_pack("{s:o}", "hosts", list) : NULL;
    rc = all && json_dumpf(all, stdout, JSON_INDENT(2)) == 0
             ? 0
             : fault_set(why, ML_ERR_SYSTEM, "cannot print the JSON");
    putchar('\n');
    json_decref(all);
    return rc;
}

/* Runs the command on all hosts of the plan, and returns mlaunch's exit status. */
static int plan_exec(struct plan *p, bool json)
{
    struct exec_run r = {.plan = p, .json = json};
    struct fault why;
    int status = STATUS_OURS, rc = run_open(&r, &why);

    if (!rc) {
        hosts_start(&r);
        while (r.ended < r.started)
            event_base_loop(r.base, EVLOOP_ONCE);
        status = exec_output_status(r.output);
        if (r.end_signal)
            status = STATUS_SIGNAL + r.end_signal;
        rc = run_print(&r, &why);
        if (r.failed.code)
            rc = fault_set(&why, r.failed.code, "%s", r.failed.text);
    }
    if (rc) {
        log_error("%s", why.text);
        status = STATUS_OURS;
    }
    run_close(&r);
    return status;
}

static const struct option own[] = {
    {.name = "json", .help = "a list of hosts, each with status, stdout and stderr"}, {0}};

static const char *const without[] = {"np",        "ppn",     "output",
                                      "pty",       "stdin",   "events",
                                      "record",    "trace",   "compare-hashes",
                                      "timestamp", "summary", "name",
                                      "detach",    "version", NULL};

static const struct command_syntax syntax = {
    .name = "exec",
    .usage = "usage: mlaunch exec [OPTIONS] [--] COMMAND [ARG...]\n"
             "\n"
             "Runs COMMAND once on each host, all at the same time, without the library. When\n"
             "all have ended, each output is printed once, behind the hosts that wrote it:\n"
             "\n"
             "    $ mlaunch exec -H '[a-h]' -- uname -r\n"
             "    [a,c-h] 6.1.0-28\n"
             "    [b] 6.1.0-26\n"
             "\n"
             "A host that cannot be reached or dies is named; the others go on. The exit\n"
             "status is the largest of the commands' (125: on some host it could not be run).",
    .ending = "And run's options that say where and how: -H, --hostfile, -x, --cwd, --stage,\n"
              "--timeout, --ssh-config, ... (mlaunch --help).",
    .own = own,
    .borrows_all = true,
    .without = without,
    .why_without =
        "it runs one command once on each host and gathers its output; mlaunch run --ppn "
        "1 --backend none does not",
    .words = COMMAND_PROGRAMS};

/* Once a host, a plain process. */
static int options_settle(struct options *o, struct fault *why)
{
    if (o->app_count > 1)
        return fault_set(why, ML_ERR_ARGUMENT, "mlaunch exec runs one command: leave ':' out");
    o->ppn = 1;
    o->backend = BACKEND_NONE;
    o->oversubscribe = true;
    o->no_compat = true;
    return string_copy(&o->stdin_to, "none", why);
}

int exec_command_run(int argc, char **argv)
{
    struct command_line line = {0};
    struct options *o = NULL;
    struct plan *p = NULL;
    struct fault why;
    int status = STATUS_OURS, rc = command_line_read(&line, &syntax, NULL, argc, argv, &why);

    if (!rc && line.action) {
        command_syntax_print_help(&syntax);
        command_line_clear(&line);
        return 0;
    }
    if (!rc)
        rc = options_load_line(&o, &line, &why);
    if (!rc)
        rc = options_settle(o, &why);
    if (!rc) {
        log_open("mlaunch", (enum log_level)(LOG_WARN + o->verbose));
        rc = plan_create(&p, o, environ, &why);
    }
    if (rc) {
        log_error("%s", why.text);
    } else if (o->dry_run) {
        plan_print(p);
        status = 0;
    } else {
        p->output = OUTPUT_RAW;
        p->leaves_exit = true;
        status = plan_exec(p, command_line_value(&line, "json") != NULL);
    }
    plan_destroy(p);
    options_destroy(o);
    command_line_clear(&line);
    return status;
}

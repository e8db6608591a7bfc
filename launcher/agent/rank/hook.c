/* SPDX-License-Identifier: MIT */
#include "launcher/agent/rank/hook.h"

#include "common/text/signal_text.h"
#include "launcher/agent/host/descendants_linux.h"
#include "launcher/agent/rank/rank_environment.h"
#include "launcher/agent/rank/variable_list.h"
#include "launcher/wire/protocol/agent_protocol.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

struct hook {
    struct hook_config config;
    pid_t pid;
    int fd; /* its output */
    struct event *readable, *limit;
    bool is_late;
    size_t size; /* the text's */
    char text[HOOK_TEXT];
};

/* Keeps the end of what it writes. */
static void text_add(struct hook *h, const char *bytes, size_t size)
{
    size_t room = sizeof(h->text) - 1;

    if (size > room) {
        bytes += size - room;
        size = room;
    }
    if (h->size + size > room) {
        size_t lost = h->size + size - room;

        memmove(h->text, h->text + lost, h->size - lost);
        h->size -= lost;
    }
    memcpy(h->text + h->size, bytes, size);
    h->size += size;
    h->text[h->size] = '\0';
}

/* Reads what there is. Its background processes may hold the pipe open, so that there is no end. */
static void output_read(struct hook *h)
{
    char bytes[4096];
    ssize_t size;

    do {
        size = read(h->fd, bytes, sizeof(bytes));
        if (size > 0)
            text_add(h, bytes, (size_t)size);
    } while (size > 0 || (size < 0 && errno == EINTR));
    if (size == 0)
        event_del(h->readable);
}

static void on_readable(evutil_socket_t fd, short what, void *arg)
{
    (void)fd, (void)what;
    output_read(arg);
}

static void on_limit(evutil_socket_t fd, short what, void *arg)
{
    struct hook *h = arg;

    (void)fd, (void)what;
    h->is_late = true;
    descendants_signal_group(h->pid, SIGKILL);
}

/* What the agent has, and what the job and its part on this host are. */
static int variables_make(struct variable_list *v, const struct hook_config *c, struct fault *why)
{
    variable_list_set(v, "MLAUNCH_JOB_DIR=%s", c->job_dir); /* first, as in ranks */
    for (char **e = environ; *e; e++)
        variable_list_set(v, "%s", *e);
    rank_environment_add_job(v, c->job, c->job_dir);
    variable_list_set(v, "MLAUNCH_HOST=%s", c->job->host_name);
    variable_list_set(v, "MLAUNCH_ALONE=1"); /* it is no rank that has lost its environment */
    return v->failed ? fault_set(why, ML_ERR_MEMORY, "out of memory") : 0;
}

static int events_open(struct hook *h, struct fault *why)
{
    static const struct timeval limit = {HOOK_LIMIT_S, 0};

    h->readable = event_new(h->config.base, h->fd, EV_READ | EV_PERSIST, on_readable, h);
    h->limit = evtimer_new(h->config.base, on_limit, h);
    if (!h->readable || !h->limit || event_add(h->readable, NULL) || event_add(h->limit, &limit))
        return fault_set(why, ML_ERR_MEMORY, "out of memory for an event");
    return 0;
}

static int process_start(struct hook *h, int out, struct fault *why)
{
    const char *const argv[] = {"sh", "-c", h->config.command, NULL};
    struct variable_list variables = {0};
    const char *path;
    struct spawn s = {.argv = argv,
                      .program = argv[0],
                      .cwd = h->config.cwd,
                      .in = STDIN_FILENO, /* the agent's is /dev/null */
                      .out = out,
                      .err = out,
                      .kept = -1,
                      .limits = h->config.limits,
                      .cgroup = h->config.cgroup};
    int status, rc = variables_make(&variables, &h->config, why);

    path = rc ? NULL : variable_list_get(&variables, "PATH");
    s.path = path ? path : "/usr/local/bin:/usr/bin:/bin";
    s.env = variables.list;
    if (!rc)
        rc = spawn_process(&h->pid, &s, &status, why);
    variable_list_truncate(&variables, 0);
    return rc;
}

int hook_start(struct hook **out, const struct hook_config *config, struct fault *why)
{
    struct hook *h = calloc(1, sizeof(*h));
    int ends[2], rc;

    if (!h)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    h->config = *config;
    if (pipe2(ends, O_CLOEXEC)) {
        rc = fault_os(why, ML_ERR_SYSTEM, errno, "cannot make a pipe");
        free(h);
        return rc;
    }
    h->fd = ends[0];
    fcntl(h->fd, F_SETFL, O_NONBLOCK);
    rc = events_open(h, why);
    if (!rc)
        rc = process_start(h, ends[1], why);
    close(ends[1]);
    if (rc) {
        hook_close(h);
        return fault_wrap(why, "the %s", config->name);
    }
    *out = h;
    return 0;
}

/* "the prolog exited with status 3: no /data". False: it did not fail. */
static bool end_describe(const struct hook *h, int status, struct fault *failed)
{
    char killed[SIGNAL_TEXT];
    const char *name = h->config.name, *colon = h->size ? ": " : "";

    if (h->is_late)
        fault_set(failed, ML_ERR_SYSTEM, "the %s has not ended within %d s, and was killed%s%s",
                  name, HOOK_LIMIT_S, colon, h->text);
    else if (WIFSIGNALED(status))
        fault_set(failed, ML_ERR_SYSTEM, "the %s %s%s%s", name,
                  signal_text_killed(killed, WTERMSIG(status)), colon, h->text);
    else if (WEXITSTATUS(status))
        fault_set(failed, ML_ERR_SYSTEM, "the %s exited with status %d%s%s", name,
                  WEXITSTATUS(status), colon, h->text);
    else
        return false;
    return true;
}

bool hook_reaped(struct hook *h, pid_t pid, int status)
{
    struct fault failed;

    if (!h || pid != h->pid)
        return false;
    output_read(h);
    while (h->size > 0 && h->text[h->size - 1] == '\n')
        h->text[--h->size] = '\0';
    h->config.on_end(end_describe(h, status, &failed) ? &failed : NULL, h->text, h->config.arg);
    return true;
}

void hook_close(struct hook *h)
{
    if (!h)
        return;
    if (h->readable)
        event_free(h->readable);
    if (h->limit)
        event_free(h->limit);
    close(h->fd);
    free(h);
}

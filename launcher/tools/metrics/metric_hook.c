/* SPDX-License-Identifier: MIT */
#include "launcher/tools/metrics/metric_hook.h"

#include "launcher/base/process/stream_child.h"

#include <errno.h>
#include <event2/buffer.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LOOK_MS = 10 };

/* RUNNING ──its output is closed──▶ ENDING ──its exit──▶ gone; a command may close its output, and
 * go on. */
struct metric_hook {
    struct stream_child child;
    struct event *readable, *limit, *ending;
    struct evbuffer *printed;
    const char *command;
    int limit_ms;
    metric_hook_on_end *on_end;
    void *arg;
};

void metric_hook_cancel(struct metric_hook *h)
{
    if (!h)
        return;
    if (h->readable)
        event_free(h->readable);
    if (h->limit)
        event_free(h->limit);
    if (h->ending)
        event_free(h->ending);
    stream_child_end(&h->child);
    if (h->printed)
        evbuffer_free(h->printed);
    free(h);
}

/* `why` is empty if the command has succeeded. */
static void hook_conclude(struct metric_hook *h, bool is_taken, const struct fault *why)
{
    evbuffer_add(h->printed, "", 1);
    h->on_end(is_taken ? (char *)evbuffer_pullup(h->printed, -1) : NULL, why, h->arg);
    metric_hook_cancel(h);
}

static void hook_fail(struct metric_hook *h, const char *what)
{
    struct fault why;

    fault_set(&why, ML_ERR_SYSTEM, "--command %.200s %s", h->command, what);
    hook_conclude(h, false, &why);
}

static void hook_on_limit(evutil_socket_t fd, short what, void *arg)
{
    struct metric_hook *h = arg;
    char words[64];

    (void)fd, (void)what;
    snprintf(words, sizeof(words), "was ended after %.3g s", h->limit_ms / 1e3);
    hook_fail(h, words);
}

/* It has closed its output, and is about to end. */
static void hook_on_ending(evutil_socket_t fd, short what, void *arg)
{
    static const struct timeval again = {0, LOOK_MS * 1000L};
    struct metric_hook *h = arg;
    struct fault why = {0};
    int status = 0;
    pid_t pid = waitpid(h->child.pid, &status, WNOHANG);

    (void)fd, (void)what;
    if (pid == 0 || (pid < 0 && errno == EINTR)) {
        event_add(h->ending, &again);
        return;
    }
    close(h->child.fd);
    h->child = (struct stream_child){0};
    if (evbuffer_get_length(h->printed) == 0) {
        hook_fail(h, "has printed nothing");
        return;
    }
    if (WIFSIGNALED(status))
        fault_set(&why, ML_ERR_SYSTEM, "--command %.200s was ended by signal %d", h->command,
                  WTERMSIG(status));
    else if (WEXITSTATUS(status))
        fault_set(&why, ML_ERR_SYSTEM, "--command %.200s has ended with status %d", h->command,
                  WEXITSTATUS(status));
    hook_conclude(h, true, &why);
}

static void hook_on_readable(evutil_socket_t fd, short what, void *arg)
{
    struct metric_hook *h = arg;
    char words[64];
    int n = evbuffer_read(h->printed, fd, -1);

    (void)what;
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n > 0 && evbuffer_get_length(h->printed) > METRIC_HOOK_MOST) {
        snprintf(words, sizeof(words), "has printed more than %d KiB", METRIC_HOOK_MOST / 1024);
        hook_fail(h, words);
    } else if (n <= 0) {
        event_del(h->readable);
        event_active(h->ending, EV_TIMEOUT, 1);
    }
}

int metric_hook_start(struct metric_hook **out, struct event_base *base, const char *command,
                      int limit_ms, metric_hook_on_end *on_end, void *arg, struct fault *why)
{
    char *argv[] = {strdup("/bin/sh"), strdup("-c"), strdup(command), NULL};
    const struct timeval limit = {limit_ms / 1000, limit_ms % 1000 * 1000L};
    struct metric_hook *h = calloc(1, sizeof(*h));
    int rc = fault_set(why, ML_ERR_MEMORY, "out of memory");

    if (!h || !argv[0] || !argv[1] || !argv[2])
        goto out;
    h->command = command;
    h->limit_ms = limit_ms;
    h->on_end = on_end;
    h->arg = arg;
    h->printed = evbuffer_new();
    rc = h->printed ? stream_child_start(&h->child, argv, environ, false, why) : rc;
    if (rc)
        goto out;
    h->readable = event_new(base, h->child.fd, EV_READ | EV_PERSIST, hook_on_readable, h);
    h->limit = evtimer_new(base, hook_on_limit, h);
    h->ending = evtimer_new(base, hook_on_ending, h);
    if (h->readable && h->limit && h->ending && !event_add(h->readable, NULL) &&
        !event_add(h->limit, &limit))
        *out = h;
    else
        rc = fault_set(why, ML_ERR_MEMORY, "out of memory");
out:
    if (rc)
        metric_hook_cancel(h);
    for (int i = 0; i < 3; i++)
        free(argv[i]);
    return rc;
}

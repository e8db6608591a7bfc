/* SPDX-License-Identifier: MIT */
#include "launcher/tools/metrics/metric_scrape.h"

#include "launcher/base/process/stream_child.h"

#include <errno.h>
#include <event2/buffer.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

struct metric_scrape {
    struct stream_child child;
    struct event *readable; /* with the time that is left as its limit */
    struct evbuffer *page;
    metric_scrape_on_end *on_end;
    void *arg;
};

void metric_scrape_cancel(struct metric_scrape *s)
{
    if (!s)
        return;
    if (s->readable)
        event_free(s->readable);
    stream_child_end(&s->child);
    if (s->page)
        evbuffer_free(s->page);
    free(s);
}

/* Takes the child's exit status; it has closed its output, which only its end does. */
static int child_reap(struct metric_scrape *s, struct fault *why)
{
    int status = 0;

    while (waitpid(s->child.pid, &status, 0) < 0 && errno == EINTR)
        ;
    close(s->child.fd);
    s->child = (struct stream_child){0};
    if (WIFSIGNALED(status))
        return fault_set(why, ML_ERR_SYSTEM,
                         "the process that gathers the metrics was ended by "
                         "signal %d",
                         WTERMSIG(status));
    if (evbuffer_get_length(s->page) == 0)
        return fault_set(why, ML_ERR_SYSTEM,
                         "the process that gathers the metrics has failed, and has said why on "
                         "standard error");
    return 0;
}

static void scrape_conclude(struct metric_scrape *s, int rc, const struct fault *why)
{
    if (rc)
        s->on_end(NULL, 0, why, s->arg);
    else
        s->on_end((const char *)evbuffer_pullup(s->page, -1), evbuffer_get_length(s->page), NULL,
                  s->arg);
    metric_scrape_cancel(s);
}

static void scrape_on_readable(evutil_socket_t fd, short what, void *arg)
{
    struct metric_scrape *s = arg;
    struct fault why;
    int n;

    if (what & EV_TIMEOUT) {
        scrape_conclude(s,
                        fault_set(&why, ML_ERR_SYSTEM, "the metrics were not gathered within %d s",
                                  METRIC_SCRAPE_S),
                        &why);
        return;
    }
    n = evbuffer_read(s->page, fd, -1);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n > 0 && evbuffer_get_length(s->page) <= METRIC_SCRAPE_MOST)
        return;
    if (n > 0)
        scrape_conclude(s,
                        fault_set(&why, ML_ERR_SYSTEM, "the metrics are more than %d MiB",
                                  METRIC_SCRAPE_MOST >> 20),
                        &why);
    else
        scrape_conclude(s, child_reap(s, &why), &why);
}

int metric_scrape_start(struct metric_scrape **out, struct event_base *base, char *const argv[],
                        metric_scrape_on_end *on_end, void *arg, struct fault *why)
{
    struct timeval limit = {.tv_sec = METRIC_SCRAPE_S};
    struct metric_scrape *s = calloc(1, sizeof(*s));
    int rc = fault_set(why, ML_ERR_MEMORY, "out of memory");

    if (!s)
        return rc;
    s->on_end = on_end;
    s->arg = arg;
    s->page = evbuffer_new();
    if (!s->page)
        goto fail;
    rc = stream_child_start(&s->child, argv, environ, false, why);
    if (rc)
        goto fail;
    rc = fault_set(why, ML_ERR_MEMORY, "out of memory");
    s->readable = event_new(base, s->child.fd, EV_READ | EV_PERSIST, scrape_on_readable, s);
    if (!s->readable || event_add(s->readable, &limit))
        goto fail;
    *out = s;
    return 0;
fail:
    metric_scrape_cancel(s);
    return rc;
}

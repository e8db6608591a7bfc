/* SPDX-License-Identifier: MIT */
#include "launcher/run/change/change_requests.h"

#include "common/failure_times.h"
#include "common/net/address.h"
#include "common/text/parsed_json.h"
#include "common/text/text_json.h"
#include "launcher/base/machine/job_socket.h"

#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    REQUESTS_MOST = 16,
    LINE_LIMIT = 4096,
    ACCEPT_AGAIN_MS = 100, /* after descriptors have run out */
};

struct change_request {
    struct change_requests *all;
    struct bufferevent *stream;
    enum { REQUEST_READS, REQUEST_SHRINKS, REQUEST_GROWS, REQUEST_ENDS } state;
    struct rank_set leaving; /* that it waits for; */
    int first, count;        /* or these, to be started; first -1: once hosts have come */
    TAILQ_ENTRY(change_request) entry;
};

struct change_requests {
    struct event_base *base;
    struct change_handlers handlers;
    int listener;
    struct event *on_accept, *accept_again, *pulse;
    int count;
    TAILQ_HEAD(change_request_list, change_request) requests;
};

static void request_free(struct change_request *q)
{
    TAILQ_REMOVE(&q->all->requests, q, entry);
    q->all->count--;
    bufferevent_free(q->stream);
    free(q);
}

static void line_send(struct change_request *q, json_t *line)
{
    char *text = json_dumps(line, JSON_COMPACT);

    if (text)
        evbuffer_add_printf(bufferevent_get_output(q->stream), "%s\n", text);
    free(text);
    json_decref(line);
}

/* The connection ends once this is written. */
static void request_end(struct change_request *q, int status, const char *text)
{
    q->state = REQUEST_ENDS;
    line_send(q, json_pack("{s:i, s:o}", "status", status, "text", text_json(text)));
}

static void asker_name(char *out, size_t size)
{
    const struct passwd *user = getpwuid(geteuid());
    char host[256] = "";

    gethostname(host, sizeof(host) - 1);
    snprintf(out, size, "by %.40s on host %.60s", user ? user->pw_name : "its user", host);
}

static int shrink_take(struct change_request *q, const json_t *asked, struct fault *why)
{
    const struct change_handlers *h = &q->all->handlers;
    const char *ranks;
    char by[160];
    int rc;

    if (json_unpack((json_t *)asked, "{s:s}", "ranks", &ranks))
        return fault_set(why, ML_ERR_ARGUMENT, "the request is malformed");
    rc = rank_set_parse(&q->leaving, ranks, strlen(ranks), why);
    if (rc)
        return rc;
    asker_name(by, sizeof(by));
    rc = h->shrink(&q->leaving, by, h->arg, why);
    if (rc)
        return rc;
    q->state = REQUEST_SHRINKS;
    line_send(q, json_pack("{s:s}", "text", "the ranks leave, and have the job's grace to end"));
    return 0;
}

static int grow_take(struct change_request *q, const json_t *asked, struct fault *why)
{
    const struct change_handlers *h = &q->all->handlers;
    const char *hosts;
    char by[160];
    int rc;

    if (json_unpack((json_t *)asked, "{s:s}", "hosts", &hosts))
        return fault_set(why, ML_ERR_ARGUMENT, "the request is malformed");
    asker_name(by, sizeof(by));
    rc = h->grow(hosts, by, &q->first, &q->count, h->arg, why);
    if (rc)
        return rc;
    q->state = REQUEST_GROWS;
    line_send(q, json_object());
    return 0;
}

static void ranks_name(const struct change_request *q, char *out, size_t size)
{
    if (q->count == 1)
        snprintf(out, size, "rank %d", q->first);
    else
        snprintf(out, size, "ranks %d-%d", q->first, q->first + q->count - 1);
}

static void grown_answer(struct change_request *q, bool have_ended)
{
    char text[200], ranks[64];

    ranks_name(q, ranks, sizeof(ranks));
    snprintf(text, sizeof(text),
             have_ended ? "of %s one has ended already; mlaunch says why"
             : q->count == 1
                 ? "%s runs, and becomes a member when the others call ml_repair (ml_changed)"
                 : "%s run, and become members when the others call ml_repair (ml_changed)",
             ranks);
    request_end(q, have_ended, text);
}

static void request_take(struct change_request *q, const char *line, size_t size)
{
    json_t *asked = parsed_json(line, size, 0, NULL);
    const char *what = json_string_value(json_object_get(asked, "what"));
    struct fault why;
    int rc;

    if (what && strcmp(what, "shrink") == 0)
        rc = shrink_take(q, asked, &why);
    else if (what && strcmp(what, "grow") == 0)
        rc = grow_take(q, asked, &why);
    else
        rc = fault_set(&why, ML_ERR_ARGUMENT, "the request is malformed");
    json_decref(asked);
    if (rc)
        request_end(q, 1, why.text);
    else
        change_requests_look(q->all);
}

/* It has waited in vain for an mlaunch that was stopped, and has been told that nothing is done. */
static bool asker_is_gone(const struct change_request *q)
{
    char byte;

    return recv(bufferevent_getfd(q->stream), &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

static void on_read(struct bufferevent *stream, void *arg)
{
    struct change_request *q = arg;
    struct evbuffer *in = bufferevent_get_input(stream);
    size_t size;
    char *line;

    if (asker_is_gone(q)) {
        request_free(q);
        return;
    }
    if (q->state != REQUEST_READS) {
        evbuffer_drain(in, evbuffer_get_length(in));
        return;
    }
    line = evbuffer_readln(in, &size, EVBUFFER_EOL_LF);
    if (line)
        request_take(q, line, size);
    else if (evbuffer_get_length(in) >= LINE_LIMIT)
        request_end(q, 1, "the request is too long");
    free(line);
}

static void on_written(struct bufferevent *stream, void *arg)
{
    struct change_request *q = arg;

    (void)stream;
    if (q->state == REQUEST_ENDS)
        request_free(q);
}

/* Whoever asks has gone; what was asked goes on. */
static void on_event(struct bufferevent *stream, short what, void *arg)
{
    (void)stream, (void)what;
    request_free(arg);
}

/* Those that ask hear that mlaunch still runs. */
static void on_pulse(evutil_socket_t fd, short what, void *arg)
{
    struct change_requests *c = arg;
    struct change_request *q;

    (void)fd, (void)what;
    TAILQ_FOREACH(q, &c->requests, entry)
    {
        /* cppcheck-suppress uninitvar; it does not know TAILQ_FOREACH */
        if (q->state == REQUEST_SHRINKS || q->state == REQUEST_GROWS)
            line_send(q, json_object());
    }
}

static void on_accept(evutil_socket_t listener, short what, void *arg)
{
    static const struct timeval pause = {.tv_usec = ACCEPT_AGAIN_MS * 1000};
    struct change_requests *c = arg;
    int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    struct change_request *q;

    (void)what;
    if (fd < 0 && address_is_exhausted(errno)) {
        /* The listener stays readable, so without a pause the loop would spin. */
        event_del(c->on_accept);
        event_add(c->accept_again, &pause);
    }
    if (fd < 0)
        return;
    q = c->count < REQUESTS_MOST && job_socket_is_own(fd) ? calloc(1, sizeof(*q)) : NULL;
    if (q)
        q->stream = bufferevent_socket_new(c->base, fd, BEV_OPT_CLOSE_ON_FREE);
    if (!q || !q->stream) {
        free(q);
        close(fd);
        return;
    }
    q->all = c;
    c->count++;
    TAILQ_INSERT_TAIL(&c->requests, q, entry);
    bufferevent_setcb(q->stream, on_read, on_written, on_event, q);
    bufferevent_setwatermark(q->stream, EV_READ, 0, LINE_LIMIT);
    bufferevent_enable(q->stream, EV_READ | EV_WRITE);
}

static void on_accept_again(evutil_socket_t fd, short what, void *arg)
{
    struct change_requests *c = arg;

    (void)fd, (void)what;
    event_add(c->on_accept, NULL);
}

int change_requests_open(struct change_requests **out, struct event_base *base, const char *job,
                         const struct change_handlers *handlers, struct fault *why)
{
    static const struct timeval interval = FAILURE_TIMEVAL(AGENT_HEARTBEAT_MS);
    struct change_requests *c = calloc(1, sizeof(*c));
    int rc;

    if (!c)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    *c = (struct change_requests){.base = base, .handlers = *handlers, .listener = -1};
    TAILQ_INIT(&c->requests);
    rc = job_socket_listen(&c->listener, job, why);
    if (!rc) {
        c->on_accept = event_new(base, c->listener, EV_READ | EV_PERSIST, on_accept, c);
        c->accept_again = evtimer_new(base, on_accept_again, c);
        c->pulse = event_new(base, -1, EV_PERSIST, on_pulse, c);
        if (!c->on_accept || !c->accept_again || !c->pulse || event_add(c->on_accept, NULL) ||
            event_add(c->pulse, &interval))
            rc = fault_set(why, ML_ERR_MEMORY, "out of memory");
    }
    if (rc)
        change_requests_close(c);
    else
        *out = c;
    return rc;
}

void change_requests_close(struct change_requests *c)
{
    struct change_request *q;

    if (!c)
        return;
    while ((q = TAILQ_FIRST(&c->requests)))
        request_free(q);
    if (c->on_accept)
        event_free(c->on_accept);
    if (c->accept_again)
        event_free(c->accept_again);
    if (c->pulse)
        event_free(c->pulse);
    if (c->listener >= 0)
        close(c->listener);
    free(c);
}

void change_requests_came(struct change_requests *c, int first, const char *why)
{
    struct change_request *q;

    if (!c)
        return;
    TAILQ_FOREACH(q, &c->requests, entry)
    {
        /* cppcheck-suppress uninitvar; it does not know TAILQ_FOREACH */
        if (q->state != REQUEST_GROWS || q->first >= 0)
            continue;
        q->first = first;
        if (first < 0)
            request_end(q, 1, why);
    }
}

void change_requests_look(struct change_requests *c)
{
    struct change_request *q;
    bool have_ended;

    if (!c)
        return;
    TAILQ_FOREACH(q, &c->requests, entry)
    {
        /* cppcheck-suppress uninitvar; it does not know TAILQ_FOREACH */
        if (q->state == REQUEST_SHRINKS && c->handlers.has_shrunk(&q->leaving, c->handlers.arg))
            request_end(q, 0, "the ranks have left");
        if (q->state == REQUEST_GROWS && q->first >= 0 &&
            c->handlers.has_grown(q->first, q->count, &have_ended, c->handlers.arg))
            grown_answer(q, have_ended);
    }
}

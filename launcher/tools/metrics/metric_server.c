/* SPDX-License-Identifier: MIT */
#include "launcher/tools/metrics/metric_server.h"

#include "common/log.h"
#include "common/net/address.h"
#include "launcher/tools/metrics/metric_listen.h"
#include "launcher/tools/metrics/metric_request.h"

#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    BACKLOG = 64,
    ACCEPT_AGAIN_MS = 100, /* after descriptors have run out */
};

/*
 *   READING ──request──▶ WAITING ──page──▶ WRITING ──sent──▶ LEAVING ──its end──▶ gone
 *      └──────────────an error's answer───────▲
 *
 * A connection that is closed before all has been read of it is reset, and the answer may be lost;
 * so the client closes it first.
 */
enum client_state { CLIENT_READING, CLIENT_WAITING, CLIENT_WRITING, CLIENT_LEAVING };

struct metric_client {
    struct metric_server *server;
    struct bufferevent *stream;
    struct event *limit;
    enum client_state state;
    bool is_head; /* HEAD: the same answer without the page */
    struct metric_client *next;
};

struct metric_server {
    struct event_base *base;
    struct event *accepting, *accept_again;
    struct metric_listen listen; /* its descriptor is -1 until it is open */
    metric_server_on_wanted *on_wanted;
    void *arg;
    bool is_wanted; /* a page is being made */
    struct metric_client *clients;
    int count;
};

static void client_free(struct metric_client *c)
{
    struct metric_server *s = c->server;
    struct metric_client **at = &s->clients;

    while (*at && *at != c)
        at = &(*at)->next;
    if (*at) {
        *at = c->next;
        s->count--;
        event_add(s->accepting, NULL);
    }
    if (c->limit)
        event_free(c->limit);
    if (c->stream)
        bufferevent_free(c->stream);
    free(c);
}

static void client_answer(struct metric_client *c, const char *status, const char *type,
                          const char *text, size_t size)
{
    struct evbuffer *to = bufferevent_get_output(c->stream);

    c->state = CLIENT_WRITING;
    event_add(c->server->accepting, NULL); /* this client may be pushed out now */
    evbuffer_add_printf(to,
                        "HTTP/1.1 %s\r\nContent-Type: %s; charset=utf-8\r\nContent-Length: "
                        "%zu\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n",
                        status, type, size);
    if (!c->is_head)
        evbuffer_add(to, text, size);
    bufferevent_enable(c->stream, EV_WRITE);
}

static void client_refuse(struct metric_client *c, const char *status, const char *text)
{
    char line[640];

    snprintf(line, sizeof(line), "%s\n", text);
    client_answer(c, status, "text/plain", line, strlen(line));
}

void metric_server_give(struct metric_server *s, const char *page)
{
    s->is_wanted = false;
    for (struct metric_client *c = s->clients; c; c = c->next) {
        if (c->state != CLIENT_WAITING)
            continue;
        if (page)
            client_answer(c, "200 OK", "text/plain; version=0.0.4", page, strlen(page));
        else
            client_refuse(c, "500 Internal Server Error", "out of memory");
    }
}

/* Prometheus says how long it waits. Half a second of that is for the way, or half of it. */
static void client_wait(struct metric_client *c, int patience_ms)
{
    struct metric_server *s = c->server;

    c->state = CLIENT_WAITING;
    if (s->is_wanted)
        return;
    s->is_wanted = true;
    if (patience_ms < INT_MAX)
        patience_ms -= patience_ms < 1000 ? patience_ms / 2 : 500;
    s->on_wanted(patience_ms, s->arg);
}

/* `head`: the request up to its empty line. */
static void client_read_request(struct metric_client *c, char *head)
{
    struct metric_request r;

    metric_request_read(&r, head, &c->server->listen);
    c->is_head = r.is_head;
    if (!r.is_http)
        client_refuse(c, "400 Bad Request", "this is not a request of HTTP/1.1");
    else if (!r.is_host_ours)
        client_refuse(c, "421 Misdirected Request",
                      "on a loopback address only the Hosts localhost, 127.0.0.1, [::1] and the "
                      "name of --listen are answered");
    else if (strcmp(r.path, "/metrics") != 0)
        client_refuse(c, "404 Not Found", "the metrics of mlaunch are at /metrics");
    else if (!r.is_get && !r.is_head)
        client_refuse(c, "405 Method Not Allowed\r\nAllow: GET, HEAD", "only GET and HEAD");
    else
        client_wait(c, r.patience_ms);
}

static void client_on_readable(struct bufferevent *stream, void *arg)
{
    struct metric_client *c = arg;
    struct evbuffer *from = bufferevent_get_input(stream);
    size_t size = evbuffer_get_length(from);
    struct evbuffer_ptr end = evbuffer_search(from, "\r\n\r\n", 4, NULL);
    struct timeval limit = {.tv_sec = METRIC_SERVER_CLIENT_S};
    char head[METRIC_SERVER_HEAD + 1];

    if (c->state == CLIENT_LEAVING) {
        evbuffer_drain(from, size);
        return;
    }
    if (end.pos < 0 && size < METRIC_SERVER_HEAD)
        return;
    bufferevent_disable(stream, EV_READ);
    event_add(c->limit, &limit);
    if (end.pos < 0 || end.pos >= METRIC_SERVER_HEAD) {
        client_refuse(c, "431 Request Header Fields Too Large", "the request is too long");
        return;
    }
    evbuffer_remove(from, head, (size_t)end.pos);
    head[end.pos] = '\0';
    client_read_request(c, head);
}

/* Everything has been sent. */
static void client_on_writable(struct bufferevent *stream, void *arg)
{
    struct metric_client *c = arg;

    if (c->state != CLIENT_WRITING)
        return;
    c->state = CLIENT_LEAVING;
    evbuffer_drain(bufferevent_get_input(stream), METRIC_SERVER_HEAD);
    shutdown(bufferevent_getfd(stream), SHUT_WR);
    bufferevent_enable(stream, EV_READ);
}

static void client_on_end(struct bufferevent *stream, short what, void *arg)
{
    (void)stream;
    (void)what;
    client_free(arg);
}

static void client_on_limit(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    client_free(arg);
}

static void client_add(struct metric_server *s, int fd)
{
    struct timeval limit = {.tv_sec = METRIC_SERVER_HEAD_S};
    struct metric_client *c = calloc(1, sizeof(*c));

    if (!c) {
        close(fd);
        return;
    }
    c->server = s;
    c->stream = bufferevent_socket_new(s->base, fd, BEV_OPT_CLOSE_ON_FREE);
    if (!c->stream)
        close(fd);
    c->limit = evtimer_new(s->base, client_on_limit, c);
    if (!c->stream || !c->limit || event_add(c->limit, &limit)) {
        client_free(c);
        return;
    }
    bufferevent_setcb(c->stream, client_on_readable, client_on_writable, client_on_end, c);
    bufferevent_setwatermark(c->stream, EV_READ, 0, METRIC_SERVER_HEAD);
    bufferevent_enable(c->stream, EV_READ);
    c->next = s->clients;
    s->clients = c;
    s->count++;
}

/* Whose connection a further one costs: the oldest of those that have not sent a request, or have
 * been answered and do not close it; else the oldest of those that do not read their answer. NULL:
 * all wait for a page. A client that sends its request at once, as Prometheus does, is never the
 * oldest of the first kind for long, so others cannot shut it out by connections that they hold. */
static struct metric_client *client_first_out(const struct metric_server *s)
{
    struct metric_client *silent = NULL, *slow = NULL;

    for (struct metric_client *c = s->clients; c; c = c->next) { /* the newest first */
        if (c->state == CLIENT_READING || c->state == CLIENT_LEAVING)
            silent = c;
        else if (c->state == CLIENT_WRITING)
            slow = c;
    }
    return silent ? silent : slow;
}

static void server_on_connection(evutil_socket_t listener, short what, void *arg)
{
    static const struct timeval pause = {.tv_usec = ACCEPT_AGAIN_MS * 1000};
    struct metric_server *s = arg;
    struct metric_client *out = s->count < METRIC_SERVER_CLIENTS ? NULL : client_first_out(s);
    int fd;

    (void)what;
    if (s->count == METRIC_SERVER_CLIENTS && !out) {
        event_del(s->accepting); /* the rest waits in the kernel for the page of these */
        return;
    }
    fd = address_accept(listener);
    if (fd < 0 && address_is_exhausted(errno)) {
        /* The listener stays readable, so without a pause the loop would spin. */
        event_del(s->accepting);
        event_add(s->accept_again, &pause);
    }
    if (fd < 0)
        return;
    if (out)
        client_free(out);
    client_add(s, fd);
}

static void on_accept_again(evutil_socket_t fd, short what, void *arg)
{
    struct metric_server *s = arg;

    (void)fd, (void)what;
    event_add(s->accepting, NULL);
}

int metric_server_open(struct metric_server **out, struct event_base *base, const char *where,
                       metric_server_on_wanted *on_wanted, void *arg, struct fault *why)
{
    struct metric_server *s = calloc(1, sizeof(*s));
    int rc;

    if (!s)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    s->base = base;
    s->on_wanted = on_wanted;
    s->arg = arg;
    s->listen.fd = -1;
    rc = metric_listen_open(&s->listen, where, BACKLOG, why);
    if (rc)
        goto fail;
    s->accepting = event_new(base, s->listen.fd, EV_READ | EV_PERSIST, server_on_connection, s);
    s->accept_again = evtimer_new(base, on_accept_again, s);
    if (!s->accepting || !s->accept_again || event_add(s->accepting, NULL)) {
        rc = fault_set(why, ML_ERR_MEMORY, "out of memory");
        goto fail;
    }
    *out = s;
    return 0;
fail:
    metric_server_close(s);
    return rc;
}

void metric_server_close(struct metric_server *s)
{
    if (!s)
        return;
    for (struct metric_client *c = s->clients, *next; c; c = next) {
        next = c->next;
        client_free(c);
    }
    if (s->accepting)
        event_free(s->accepting);
    if (s->accept_again)
        event_free(s->accept_again);
    if (s->listen.fd >= 0)
        close(s->listen.fd);
    free(s);
}

const char *metric_server_address(const struct metric_server *s)
{
    return s->listen.address;
}

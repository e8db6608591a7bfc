/* SPDX-License-Identifier: MIT */
#include "reply.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/keyvalq_struct.h>
#include <stdio.h>
#include <stdlib.h>

enum { READ_AHEAD = 16 << 10 }; /* what a client may send while it is being answered */

struct http_reply {
    struct evhttp_request *request;
    struct event *closed;
    reply_on_gone *on_gone;
    void *arg;
};

static struct evkeyvalq *headers(struct evhttp_request *request)
{
    return evhttp_request_get_output_headers(request);
}

void reply_send(struct evhttp_request *request, int status, const char *type, const char *text,
                size_t length, int retry_s)
{
    struct evbuffer *body = evbuffer_new();
    bool is_head = evhttp_request_get_command(request) == EVHTTP_REQ_HEAD;
    char number[24];

    if (retry_s) {
        snprintf(number, sizeof(number), "%d", retry_s);
        evhttp_add_header(headers(request), "Retry-After", number);
    }
    evhttp_add_header(headers(request), "Content-Type", type);
    evhttp_add_header(headers(request), "X-Content-Type-Options", "nosniff");
    if (is_head) { /* libevent 2.1 would send the body */
        snprintf(number, sizeof(number), "%zu", length);
        evhttp_add_header(headers(request), "Content-Length", number);
    } else if (body && length) {
        evbuffer_add(body, text, length);
    }
    evhttp_send_reply(request, status, NULL, body);
    if (body)
        evbuffer_free(body);
}

static void reply_free(struct http_reply *r)
{
    if (r->closed)
        event_free(r->closed);
    free(r);
}

/* While a stream is sent: evhttp frees the connection, and has left the request to us. */
static void stream_on_closed(struct evhttp_connection *connection, void *arg)
{
    struct http_reply *r = arg;

    (void)connection;
    if (!evhttp_request_get_connection(r->request))
        evhttp_request_free(r->request);
    r->on_gone(r->arg);
    reply_free(r);
}

void reply_drop(struct http_reply *r)
{
    struct evhttp_connection *connection = evhttp_request_get_connection(r->request);

    reply_free(r); /* its event first, then the socket */
    evhttp_connection_set_closecb(connection, NULL, NULL);
    evhttp_connection_free(connection); /* and with it the request */
}

/* While the request waits. */
static void reply_on_closed(evutil_socket_t fd, short what, void *arg)
{
    struct http_reply *r = arg;
    reply_on_gone *on_gone = r->on_gone;
    void *gone_arg = r->arg;

    (void)fd;
    (void)what;
    reply_drop(r);
    on_gone(gone_arg);
}

struct http_reply *reply_open(struct event_base *base, struct evhttp_request *request,
                              reply_on_gone *on_gone, void *arg)
{
    struct evhttp_connection *connection = evhttp_request_get_connection(request);
    struct bufferevent *bev = evhttp_connection_get_bufferevent(connection);
    struct http_reply *r = calloc(1, sizeof(*r));

    if (!r)
        return NULL;
    *r = (struct http_reply){.request = request, .on_gone = on_gone, .arg = arg};
    r->closed = event_new(base, bufferevent_getfd(bev), EV_CLOSED | EV_PERSIST, reply_on_closed, r);
    if (!r->closed || event_add(r->closed, NULL)) {
        reply_free(r);
        return NULL;
    }
    return r;
}

void reply_pass(struct http_reply *r, reply_on_gone *on_gone, void *arg)
{
    r->on_gone = on_gone;
    r->arg = arg;
}

void reply_finish(struct http_reply *r, int status, const char *text, size_t length, int retry_s)
{
    struct evhttp_request *request = r->request;

    reply_free(r); /* before evhttp may close the socket */
    reply_send(request, status, "application/json", text, length, retry_s);
}

void reply_stream(struct http_reply *r)
{
    struct evhttp_connection *connection = evhttp_request_get_connection(r->request);
    struct bufferevent *bev = evhttp_connection_get_bufferevent(connection);

    event_free(r->closed); /* evhttp itself reads from here on */
    r->closed = NULL;
    evhttp_connection_set_closecb(connection, stream_on_closed, r);
    bufferevent_setwatermark(bev, EV_READ, 0, READ_AHEAD);
    evhttp_add_header(headers(r->request), "Content-Type", "text/event-stream");
    evhttp_add_header(headers(r->request), "Cache-Control", "no-cache");
    evhttp_send_reply_start(r->request, 200, NULL);
}

bool reply_event(struct http_reply *r, const char *text, size_t length)
{
    struct evhttp_connection *connection = evhttp_request_get_connection(r->request);
    struct bufferevent *bev = evhttp_connection_get_bufferevent(connection);
    struct evbuffer *chunk = evbuffer_new();

    if (chunk && !evbuffer_add(chunk, text, length))
        evhttp_send_reply_chunk(r->request, chunk);
    if (chunk)
        evbuffer_free(chunk);
    if (evbuffer_get_length(bufferevent_get_output(bev)) <= REPLY_WAITING_MOST)
        return true;
    reply_drop(r);
    return false;
}

void reply_stream_end(struct http_reply *r)
{
    struct evhttp_connection *connection = evhttp_request_get_connection(r->request);
    struct bufferevent *bev = evhttp_connection_get_bufferevent(connection);

    evhttp_connection_set_closecb(connection, NULL, NULL);
    bufferevent_setwatermark(bev, EV_READ, 0, 0);
    evhttp_send_reply_end(r->request);
    reply_free(r);
}

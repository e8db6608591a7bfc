/* SPDX-License-Identifier: MIT */
#include "http_connection.h"

#include "../steps/monotonic.h"
#include "http_chunks.h"
#include "http_head.h"

#include <event2/buffer.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum { REFUSED_S = 5, COPY = 4096 };

enum http_state { HTTP_IDLE, HTTP_HEAD, HTTP_BODY, HTTP_ASKED, HTTP_REFUSED };

struct http_connection {
    struct bufferevent *bev;
    struct evbuffer_cb_entry *input;
    enum http_state state;
    int64_t state_ms; /* when it began */
    int64_t since_ms; /* when the connection was made, or its last request was answered */
    bool is_new;      /* none was answered yet */
    struct http_head head;
    struct http_chunks chunks;
    http_on_refused *on_refused;
    void *arg;

    /* evhttp's callbacks, while ours are in their place. */
    bufferevent_data_cb on_read, on_write;
    bufferevent_event_cb on_event;
    void *evhttp_arg;
    bool has_said_why;
};

static void state_set(struct http_connection *c, enum http_state state)
{
    c->state = state;
    c->state_ms = monotonic_ms();
}

/* --- a request that is refused: evhttp sees nothing more of the connection but its end -------- */

static const char *reason_of(int status)
{
    switch (status) {
    case 411:
        return "Length Required";
    case 413:
        return "Content Too Large";
    case 417:
        return "Expectation Failed";
    case 431:
        return "Request Header Fields Too Large";
    case 501:
        return "Not Implemented";
    default:
        return "Bad Request";
    }
}

static void refusal_write(struct http_connection *c)
{
    int status = c->head.status;
    char *text = c->on_refused(status, c->head.sentence, c->arg);
    size_t length = text ? strlen(text) : 0;

    c->has_said_why = true;
    evbuffer_add_printf(bufferevent_get_output(c->bev),
                        "HTTP/1.1 %d %s\r\nContent-Type: application/json\r\nContent-Length: "
                        "%zu\r\nX-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n%s",
                        status, reason_of(status), length, text ? text : "");
    bufferevent_enable(c->bev, EV_WRITE);
    free(text);
}

static void refused_on_readable(struct bufferevent *bev, void *arg)
{
    struct http_connection *c = arg;
    struct evbuffer *input = bufferevent_get_input(bev);

    evbuffer_drain(input, evbuffer_get_length(input));
    if (!c->has_said_why)
        refusal_write(c);
}

/* All is sent. The client closes first: otherwise its answer could be lost to a reset. */
static void refused_on_writable(struct bufferevent *bev, void *arg)
{
    (void)arg;
    shutdown(bufferevent_getfd(bev), SHUT_WR);
}

static void refused_on_end(struct bufferevent *bev, short what, void *arg)
{
    (void)bev;
    (void)what;
    http_connection_end(arg);
}

/* Called while bytes are read: the callback that follows is then ours. */
static void connection_refuse(struct http_connection *c)
{
    state_set(c, HTTP_REFUSED);
    bufferevent_getcb(c->bev, &c->on_read, &c->on_write, &c->on_event, &c->evhttp_arg);
    bufferevent_setcb(c->bev, refused_on_readable, refused_on_writable, refused_on_end, c);
}

void http_connection_end(struct http_connection *c)
{
    if (c->on_event)
        bufferevent_setcb(c->bev, c->on_read, c->on_write, c->on_event, c->evhttp_arg);
    c->on_event = NULL;
    bufferevent_trigger_event(c->bev, BEV_EVENT_READING | BEV_EVENT_EOF, 0);
}

/* --- what comes ------------------------------------------------------------------------------- */

static void bytes_take(struct http_connection *c, const char *bytes, size_t size)
{
    size_t taken = 0;

    if (c->state == HTTP_IDLE)
        state_set(c, HTTP_HEAD);
    if (c->state == HTTP_HEAD) {
        taken = http_head_take(&c->head, bytes, size);
        if (c->head.is_whole)
            state_set(c, HTTP_BODY);
    }
    if (!c->head.is_chunked || c->head.status)
        return;
    http_chunks_take(&c->chunks, bytes + taken, size - taken);
    if (c->chunks.status)
        http_head_refuse(&c->head, c->chunks.status, c->chunks.sentence);
}

/* Takes the last `size` bytes of what has come; false: the request is refused. */
static bool input_take(struct http_connection *c, struct evbuffer *input, size_t size)
{
    struct evbuffer_ptr at;
    char bytes[COPY];

    if (evbuffer_ptr_set(input, &at, evbuffer_get_length(input) - size, EVBUFFER_PTR_SET))
        return true;
    while (size && !c->head.status) {
        ssize_t n = evbuffer_copyout_from(input, &at, bytes, size < COPY ? size : COPY);

        if (n <= 0)
            break;
        bytes_take(c, bytes, (size_t)n);
        size -= (size_t)n;
        if (evbuffer_ptr_set(input, &at, (size_t)n, EVBUFFER_PTR_ADD))
            break;
    }
    return !c->head.status;
}

/* Before evhttp's callback has the bytes. What comes while a request is answered waits. */
static void connection_on_input(struct evbuffer *input, const struct evbuffer_cb_info *info,
                                void *arg)
{
    struct http_connection *c = arg;

    if (info->n_added && c->state < HTTP_ASKED && !input_take(c, input, info->n_added))
        connection_refuse(c);
}

void http_connection_ask(struct http_connection *c)
{
    state_set(c, HTTP_ASKED);
}

/* evhttp reads what has come meanwhile without the bufferevent's callbacks. So if that is to be
 * refused, it sees only the connection's end. */
void http_connection_answer(struct http_connection *c)
{
    struct evbuffer *input = bufferevent_get_input(c->bev);
    size_t size = evbuffer_get_length(input);

    state_set(c, HTTP_IDLE);
    c->since_ms = c->state_ms;
    c->is_new = false;
    c->head = (struct http_head){0};
    c->chunks = (struct http_chunks){0};
    if (!size || input_take(c, input, size))
        return;
    evbuffer_drain(input, size);
    shutdown(bufferevent_getfd(c->bev), SHUT_RD);
}

/* --- its time --------------------------------------------------------------------------------- */

bool http_connection_is_late(const struct http_connection *c, int64_t now_ms)
{
    static const int limit_s[] = {[HTTP_IDLE] = HTTP_IDLE_S,
                                  [HTTP_HEAD] = HTTP_HEAD_S,
                                  [HTTP_BODY] = HTTP_BODY_S,
                                  [HTTP_REFUSED] = REFUSED_S};
    int s = c->state == HTTP_IDLE && c->is_new ? HTTP_HEAD_S : limit_s[c->state];

    return c->state != HTTP_ASKED && now_ms - c->state_ms > s * INT64_C(1000);
}

int64_t http_connection_silent_ms(const struct http_connection *c, int64_t now_ms)
{
    return c->state == HTTP_ASKED ? -1 : now_ms - c->since_ms;
}

/* evhttp takes its callbacks off a connection that it frees. */
bool http_connection_is_gone(const struct http_connection *c)
{
    bufferevent_event_cb on_event;

    bufferevent_getcb(c->bev, NULL, NULL, &on_event, NULL);
    return !on_event;
}

struct bufferevent *http_connection_bev(const struct http_connection *c)
{
    return c->bev;
}

struct http_connection *http_connection_new(struct bufferevent *bev, http_on_refused *on_refused,
                                            void *arg)
{
    struct http_connection *c = calloc(1, sizeof(*c));

    if (!c)
        return NULL;
    c->bev = bev;
    c->on_refused = on_refused;
    c->arg = arg;
    c->is_new = true;
    state_set(c, HTTP_IDLE);
    c->since_ms = c->state_ms;
    c->input = evbuffer_add_cb(bufferevent_get_input(bev), connection_on_input, c);
    if (!c->input) {
        free(c);
        return NULL;
    }
    bufferevent_incref(bev);
    return c;
}

void http_connection_free(struct http_connection *c)
{
    evbuffer_remove_cb_entry(bufferevent_get_input(c->bev), c->input);
    bufferevent_decref(c->bev);
    free(c);
}

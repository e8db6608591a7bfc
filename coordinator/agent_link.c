/* SPDX-License-Identifier: MIT */
#include "coordinator/agent_link.h"

#include "common/clock.h"
#include "common/net/address.h"
#include "common/net/frame.h"
#include "common/text/parsed_json.h"
#include "common/text/text_json.h"
#include "coordinator/protocol.h"

#include <arpa/inet.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <jansson.h>
#include <sodium.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct agent_link {
    struct event_base *base;
    char job[AUTH_JOB + 1]; /* auth.h refuses one that fills it */
    uint8_t secret[AUTH_SECRET];
    int host;
    struct bufferevent *stream; /* NULL once lost, and between two attempts */
    struct evbuffer *waiting;   /* frames to send once the agent is admitted; NULL then */
    struct auth *auth;
    struct frame_reader *reader;
    bool is_proved;      /* the handshake of this attempt is over */
    struct event *again; /* the next attempt */
    /* The ends (clock_ms) of all attempts, of this one, and of those that cannot connect at all. */
    int64_t deadline_ms, attempt_ms, reach_ms;
    char coordinator[ADDRESS_TEXT];
    struct agent_link_events events;
};

static void link_drop_stream(struct agent_link *l)
{
    if (l->stream)
        bufferevent_free(l->stream);
    l->stream = NULL;
    frame_reader_destroy(l->reader);
    l->reader = NULL;
    auth_destroy(l->auth);
    l->auth = NULL;
}

static void link_lose(struct agent_link *l, const char *reason)
{
    char text[640];

    link_drop_stream(l);
    snprintf(text, sizeof(text), "the job's coordinator at %s: %s", l->coordinator, reason);
    l->events.on_lost(text, l->events.arg); /* may close the link */
}

static bool link_is_connected(const struct agent_link *l)
{
    struct sockaddr_storage peer;
    socklen_t size = sizeof(peer);

    return getpeername(bufferevent_getfd(l->stream), (struct sockaddr *)&peer, &size) == 0;
}

/* An attempt has failed. Before the agent is admitted that may be the fault of strangers who
 * connect to the coordinator, too: it closes connections without a proof, or its system drops
 * requests. */
static void link_try_again(struct agent_link *l, const char *reason)
{
    static const struct timeval pause = {.tv_usec = CONNECT_AGAIN_MS * 1000};
    int64_t now = clock_ms();

    if (!l->waiting || now > l->deadline_ms || now > l->reach_ms) {
        link_lose(l, reason);
        return;
    }
    link_drop_stream(l);
    event_add(l->again, &pause);
}

/* A frame whose payload is in two parts. `head` NULL: there is no memory for it. */
static void link_put(struct agent_link *l, uint8_t type, const void *head, size_t head_size,
                     const void *body, size_t body_size)
{
    struct evbuffer *to = l->waiting;
    uint8_t header[FRAME_HEADER];

    if (!to && l->stream)
        to = bufferevent_get_output(l->stream);
    frame_header(header, type, (uint32_t)(head_size + body_size));
    if (head && to && evbuffer_add(to, header, sizeof(header)) == 0 &&
        evbuffer_add(to, head, head_size) == 0 && evbuffer_add(to, body, body_size) == 0)
        return;
    if (l->stream)
        shutdown(bufferevent_getfd(l->stream), SHUT_RDWR); /* not even a frame is possible */
}

static void link_put_json(struct agent_link *l, uint8_t type, json_t *message)
{
    char *text = json_dumps(message, JSON_COMPACT);

    link_put(l, type, text, text ? strlen(text) : 0, "", 0);
    free(text);
    json_decref(message);
}

static int handshake_send(struct agent_link *l, struct fault *why)
{
    size_t size;
    const void *frame = auth_output(l->auth, &size);

    if (size > 0 && bufferevent_write(l->stream, frame, size))
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    return 0;
}

/* Handles a frame of the handshake, or ADMITTED, after which the waiting frames are sent. */
static int handshake_take(struct agent_link *l, const struct frame *f, struct fault *why)
{
    enum auth_progress progress;
    int rc;

    if (f->type == COORD_ADMITTED && l->is_proved) {
        bufferevent_set_timeouts(l->stream, NULL, NULL);
        frame_reader_limit(l->reader, FRAME_LIMIT);
        if (bufferevent_write_buffer(l->stream, l->waiting))
            return fault_set(why, ML_ERR_MEMORY, "out of memory");
        evbuffer_free(l->waiting);
        l->waiting = NULL;
        return 0;
    }
    rc = auth_input(l->auth, f, &progress, why);
    if (rc)
        return rc;
    l->is_proved = progress == AUTH_DONE;
    return handshake_send(l, why);
}

static int named_take(struct agent_link *l, const struct frame *f, struct fault *why)
{
    json_t *said = parsed_json((const char *)f->payload, f->size, JSON_REJECT_DUPLICATES, NULL);
    const char *port;
    int ask, is_done;

    if (json_unpack(said, "{s:i, s:b, s:s}", "ask", &ask, "done", &is_done, "port", &port)) {
        json_decref(said);
        return fault_set(why, ML_ERR_REFUSED, "its NAMED is malformed");
    }
    l->events.on_named(ask, is_done, port, l->events.arg);
    json_decref(said);
    return 0;
}

/* Handles what the coordinator sends after ADMITTED. */
static int frame_take(struct agent_link *l, const struct frame *f, struct fault *why)
{
    uint32_t number;

    if (f->type == COORD_NAMED)
        return named_take(l, f, why);
    if ((f->type != COORD_EXCHANGED && f->type != COORD_PASSED) || f->size < sizeof(number))
        return fault_set(why, ML_ERR_REFUSED, "it sent an unexpected message %u", f->type);
    memcpy(&number, f->payload, sizeof(number));
    if (f->type == COORD_PASSED) {
        l->events.on_passed((int)ntohl(number), f->payload + sizeof(number),
                            f->size - sizeof(number), l->events.arg);
        return 0;
    }
    l->events.on_exchanged(ntohl(number), f->payload + sizeof(number), f->size - sizeof(number),
                           l->events.arg);
    return 0;
}

static void on_read(struct bufferevent *stream, void *arg)
{
    struct agent_link *l = arg;
    struct evbuffer *in = bufferevent_get_input(stream);
    struct evbuffer_iovec piece;
    struct fault why = {0};
    struct frame f;
    int rc = 0;

    while (rc >= 0 && evbuffer_peek(in, -1, NULL, &piece, 1) > 0 && piece.iov_len > 0) {
        rc = frame_reader_feed(l->reader, piece.iov_base, piece.iov_len, &why);
        evbuffer_drain(in, piece.iov_len);
    }
    while (rc >= 0 && (rc = frame_reader_next(l->reader, &f, &why)) > 0) {
        rc = l->waiting ? handshake_take(l, &f, &why) : frame_take(l, &f, &why);
    }
    if (rc < 0)
        link_lose(l, why.text);
}

static void on_event(struct bufferevent *stream, short what, void *arg)
{
    struct agent_link *l = arg;
    int error = EVUTIL_SOCKET_ERROR();
    bool is_dropped = what & BEV_EVENT_EOF || (what & BEV_EVENT_ERROR && address_is_dropped(error));

    if (is_dropped || link_is_connected(l))
        l->reach_ms = clock_ms() + HANDSHAKE_MS;
    if (what & BEV_EVENT_TIMEOUT && link_is_connected(l) && clock_ms() < l->attempt_ms)
        bufferevent_enable(stream, EV_READ | EV_WRITE); /* a timeout disables them */
    else if (what & BEV_EVENT_TIMEOUT)
        link_try_again(l, "no answer in time");
    else if (is_dropped)
        link_try_again(l, "the connection was closed by the other side");
    else if (what & BEV_EVENT_ERROR)
        link_lose(l, evutil_socket_error_to_string(error));
}

static int stream_connect(struct agent_link *l, struct fault *why)
{
    static const struct timeval limit = {CONNECT_MS / 1000, CONNECT_MS % 1000 * 1000};
    struct auth_identity me = {.purpose = "agent", .rank = l->host};
    struct address to;
    int fd, rc = address_parse(&to, l->coordinator, why);

    l->is_proved = false;
    l->attempt_ms = clock_ms() + HANDSHAKE_MS;
    if (!rc)
        rc = frame_reader_create(&l->reader, FRAME_LIMIT_SMALL, why);
    if (!rc)
        rc = auth_create_connector(&l->auth, l->job, l->secret, &me, why);
    if (!rc)
        rc = address_connect_start(&to, &fd, why);
    if (rc)
        return rc;
    l->stream = bufferevent_socket_new(l->base, fd, BEV_OPT_CLOSE_ON_FREE);
    if (!l->stream) {
        close(fd);
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    }
    bufferevent_setcb(l->stream, on_read, NULL, on_event, l);
    bufferevent_set_timeouts(l->stream, &limit, &limit);
    bufferevent_enable(l->stream, EV_READ | EV_WRITE);
    return handshake_send(l, why); /* sent once connected */
}

static void on_again(evutil_socket_t fd, short what, void *arg)
{
    struct agent_link *l = arg;
    struct fault why;

    (void)fd, (void)what;
    if (stream_connect(l, &why))
        link_lose(l, why.text);
}

int agent_link_open(struct agent_link **out, struct event_base *base, const char *coordinator,
                    const char *job, const uint8_t secret[AUTH_SECRET], int host, int timeout_ms,
                    const struct agent_link_events *events, struct fault *why)
{
    struct agent_link *l = calloc(1, sizeof(*l));
    int rc;

    if (!l)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    l->base = base;
    l->host = host;
    l->events = *events;
    l->reach_ms = clock_ms() + HANDSHAKE_MS;
    l->deadline_ms = clock_ms() + timeout_ms;
    snprintf(l->job, sizeof(l->job), "%s", job);
    memcpy(l->secret, secret, AUTH_SECRET);
    snprintf(l->coordinator, sizeof(l->coordinator), "%s", coordinator);
    l->waiting = evbuffer_new();
    l->again = evtimer_new(base, on_again, l);
    rc = l->waiting && l->again ? 0 : fault_set(why, ML_ERR_MEMORY, "out of memory");
    if (!rc)
        rc = stream_connect(l, why);
    if (rc) {
        agent_link_close(l);
        return rc;
    }
    *out = l;
    return 0;
}

void agent_link_exited(struct agent_link *l, int rank, int64_t pid, const char *text)
{
    link_put_json(l, COORD_EXITED,
                  json_pack("{s:i, s:I, s:o}", "rank", rank, "pid", (json_int_t)pid, "text",
                            text_json(text)));
}

void agent_link_share(struct agent_link *l, uint32_t number, const void *bytes, size_t size)
{
    uint32_t word = htonl(number);

    link_put(l, COORD_EXCHANGE, &word, sizeof(word), bytes, size);
}

void agent_link_pass(struct agent_link *l, int host, const void *bytes, size_t size)
{
    uint32_t word = htonl((uint32_t)host);

    link_put(l, COORD_PASS, &word, sizeof(word), bytes, size);
}

void agent_link_name(struct agent_link *l, int ask, const char *what, const char *service,
                     const char *port)
{
    link_put_json(l, COORD_NAME,
                  json_pack("{s:i, s:s, s:s, s:s*}", "ask", ask, "what", what, "service", service,
                            "port", port));
}

void agent_link_close(struct agent_link *l)
{
    if (!l)
        return;
    if (l->stream) {
        /* The last reports must not be lost with the connection. */
        evbuffer_unfreeze(bufferevent_get_output(l->stream), 1);
        evbuffer_write(bufferevent_get_output(l->stream), bufferevent_getfd(l->stream));
    }
    link_drop_stream(l);
    if (l->again)
        event_free(l->again);
    if (l->waiting)
        evbuffer_free(l->waiting);
    sodium_memzero(l->secret, sizeof(l->secret));
    free(l);
}

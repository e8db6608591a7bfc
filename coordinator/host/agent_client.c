/* SPDX-License-Identifier: MIT */
#include "coordinator/host/agent_client.h"

#include "common/clock.h"
#include "common/failure_times.h"
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

enum {
    TO_RANKS_HEAD = 5,   /* u8 type, u32 number of channels */
    DRAINED = 256 << 10, /* bytes */
};

struct agent_client {
    struct event_base *base;
    char job[AUTH_JOB + 1]; /* auth.h refuses one that fills it */
    uint8_t secret[AUTH_SECRET];
    int host;
    uint32_t placed;
    struct bufferevent *stream; /* NULL once lost, and between two attempts */
    struct evbuffer *waiting;   /* frames to send once the agent is admitted; NULL then */
    struct auth *auth;
    struct frame_reader *reader;
    bool is_proved;      /* the handshake of this attempt is over */
    struct event *again; /* the next attempt */
    /* The ends (clock_ms) of all attempts, of this one, and of those that cannot connect at all. */
    int64_t deadline_ms, attempt_ms, reach_ms;
    char coordinator[ADDRESS_TEXT];
    struct agent_client_events events;
};

static void agent_client_drop_stream(struct agent_client *c)
{
    if (c->stream)
        bufferevent_free(c->stream);
    c->stream = NULL;
    frame_reader_destroy(c->reader);
    c->reader = NULL;
    auth_destroy(c->auth);
    c->auth = NULL;
}

static void agent_client_lose(struct agent_client *c, const char *reason)
{
    char text[640];

    agent_client_drop_stream(c);
    snprintf(text, sizeof(text), "the job's coordinator at %s: %s", c->coordinator, reason);
    c->events.on_lost(text, c->events.arg); /* may close the client */
}

static bool agent_client_is_connected(const struct agent_client *c)
{
    struct sockaddr_storage peer;
    socklen_t size = sizeof(peer);

    return getpeername(bufferevent_getfd(c->stream), (struct sockaddr *)&peer, &size) == 0;
}

/* An attempt has failed. Before the agent is admitted, strangers who connect to the coordinator may
 * also cause this: it closes connections without a proof, or its system drops requests. So may a
 * network that has just come back, and knows no way yet. */
static void agent_client_try_again(struct agent_client *c, const char *reason)
{
    static const struct timeval pause = {.tv_usec = CONNECT_AGAIN_MS * 1000};
    int64_t now = clock_ms();

    if (!c->waiting || now > c->deadline_ms || now > c->reach_ms) {
        agent_client_lose(c, reason);
        return;
    }
    agent_client_drop_stream(c);
    event_add(c->again, &pause);
}

/* A frame whose payload is in two parts. `head` NULL: there is no memory for it. */
static void agent_client_put(struct agent_client *c, uint8_t type, const void *head,
                             size_t head_size, const void *body, size_t body_size)
{
    struct evbuffer *to = c->waiting;
    uint8_t header[FRAME_HEADER];

    if (!to && c->stream)
        to = bufferevent_get_output(c->stream);
    frame_header(header, type, (uint32_t)(head_size + body_size));
    if (head && to && evbuffer_add(to, header, sizeof(header)) == 0 &&
        evbuffer_add(to, head, head_size) == 0 && evbuffer_add(to, body, body_size) == 0)
        return;
    if (c->stream)
        shutdown(bufferevent_getfd(c->stream), SHUT_RDWR); /* not even a frame is possible */
}

static void agent_client_put_json(struct agent_client *c, uint8_t type, json_t *message)
{
    char *text = json_dumps(message, JSON_COMPACT);

    agent_client_put(c, type, text, text ? strlen(text) : 0, "", 0);
    free(text);
    json_decref(message);
}

static int handshake_send(struct agent_client *c, struct fault *why)
{
    size_t size;
    const void *frame = auth_output(c->auth, &size);

    if (size > 0 && bufferevent_write(c->stream, frame, size))
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    return 0;
}

/* Handles a frame of the handshake, or ADMITTED, after which the waiting frames are sent. */
static int handshake_take(struct agent_client *c, const struct frame *f, struct fault *why)
{
    enum auth_progress progress;
    int rc;

    if (f->type == COORD_ADMITTED && c->is_proved) {
        bufferevent_set_timeouts(c->stream, NULL, NULL);
        frame_reader_limit(c->reader, FRAME_LIMIT);
        if (bufferevent_write_buffer(c->stream, c->waiting))
            return fault_set(why, ML_ERR_MEMORY, "out of memory");
        evbuffer_free(c->waiting);
        c->waiting = NULL;
        return 0;
    }
    rc = auth_input(c->auth, f, &progress, why);
    if (rc)
        return rc;
    c->is_proved = progress == AUTH_DONE;
    return handshake_send(c, why);
}

static int named_take(struct agent_client *c, const struct frame *f, struct fault *why)
{
    json_t *said = parsed_json((const char *)f->payload, f->size, JSON_REJECT_DUPLICATES, NULL);
    const char *port;
    int ask, is_done;

    if (json_unpack(said, "{s:i, s:b, s:s}", "ask", &ask, "done", &is_done, "port", &port)) {
        json_decref(said);
        return fault_set(why, ML_ERR_REFUSED, "its NAMED is malformed");
    }
    c->events.on_named(ask, is_done, port, c->events.arg);
    json_decref(said);
    return 0;
}

static uint32_t get_u32(const uint8_t *at)
{
    uint32_t value;

    memcpy(&value, at, sizeof(value));
    return ntohl(value);
}

static int to_ranks_take(struct agent_client *c, const struct frame *f, struct fault *why)
{
    const uint8_t *channels = f->payload + TO_RANKS_HEAD;
    uint32_t count;

    if (f->size < TO_RANKS_HEAD || !c->events.on_to_ranks)
        return fault_set(why, ML_ERR_REFUSED, "its TO_RANKS is malformed");
    count = get_u32(f->payload + 1);
    if (count > (f->size - TO_RANKS_HEAD) / sizeof(count))
        return fault_set(why, ML_ERR_REFUSED, "its TO_RANKS is malformed");
    c->events.on_to_ranks(channels, count, f->payload[0], channels + count * sizeof(count),
                          f->size - TO_RANKS_HEAD - count * sizeof(count), c->events.arg);
    return 0;
}

static int rank_dropped_take(struct agent_client *c, const struct frame *f, struct fault *why)
{
    if (f->size != sizeof(uint32_t) || !c->events.on_rank_dropped)
        return fault_set(why, ML_ERR_REFUSED, "its RANK_DROPPED is malformed");
    c->events.on_rank_dropped(get_u32(f->payload), c->events.arg);
    return 0;
}

/* Handles what the coordinator sends after ADMITTED. */
static int frame_take(struct agent_client *c, const struct frame *f, struct fault *why)
{
    uint32_t number;

    if (f->type == COORD_NAMED)
        return named_take(c, f, why);
    if (f->type == COORD_TO_RANKS)
        return to_ranks_take(c, f, why);
    if (f->type == COORD_RANK_DROPPED)
        return rank_dropped_take(c, f, why);
    if ((f->type != COORD_EXCHANGED && f->type != COORD_PASSED) || f->size < sizeof(number))
        return fault_set(why, ML_ERR_REFUSED, "it sent an unexpected message %u", f->type);
    memcpy(&number, f->payload, sizeof(number));
    if (f->type == COORD_PASSED) {
        c->events.on_passed((int)ntohl(number), f->payload + sizeof(number),
                            f->size - sizeof(number), c->events.arg);
        return 0;
    }
    c->events.on_exchanged(ntohl(number), f->payload + sizeof(number), f->size - sizeof(number),
                           c->events.arg);
    return 0;
}

static void on_read(struct bufferevent *stream, void *arg)
{
    struct agent_client *c = arg;
    struct evbuffer *in = bufferevent_get_input(stream);
    struct evbuffer_iovec piece;
    struct fault why = {0};
    struct frame f;
    int rc = 0;

    while (rc >= 0 && evbuffer_peek(in, -1, NULL, &piece, 1) > 0 && piece.iov_len > 0) {
        rc = frame_reader_feed(c->reader, piece.iov_base, piece.iov_len, &why);
        evbuffer_drain(in, piece.iov_len);
    }
    while (rc >= 0 && (rc = frame_reader_next(c->reader, &f, &why)) > 0) {
        rc = c->waiting ? handshake_take(c, &f, &why) : frame_take(c, &f, &why);
    }
    if (rc < 0)
        agent_client_lose(c, why.text);
}

static void on_written(struct bufferevent *stream, void *arg)
{
    struct agent_client *c = arg;

    (void)stream;
    if (!c->waiting && c->events.on_drained)
        c->events.on_drained(c->events.arg);
}

static void on_event(struct bufferevent *stream, short what, void *arg)
{
    struct agent_client *c = arg;
    int error = EVUTIL_SOCKET_ERROR();
    bool is_dropped = what & BEV_EVENT_EOF || (what & BEV_EVENT_ERROR && address_is_dropped(error));

    if (is_dropped || agent_client_is_connected(c))
        c->reach_ms = clock_ms() + HANDSHAKE_MS;
    if (what & BEV_EVENT_TIMEOUT && agent_client_is_connected(c) && clock_ms() < c->attempt_ms)
        bufferevent_enable(stream, EV_READ | EV_WRITE); /* a timeout disables them */
    else if (what & BEV_EVENT_TIMEOUT)
        agent_client_try_again(c, "no answer in time");
    else if (is_dropped)
        agent_client_try_again(c, "the connection was closed by the other side");
    else if (what & BEV_EVENT_ERROR && address_is_unreached(error))
        agent_client_try_again(c, evutil_socket_error_to_string(error));
    else if (what & BEV_EVENT_ERROR)
        agent_client_lose(c, evutil_socket_error_to_string(error));
}

static int stream_connect(struct agent_client *c, struct fault *why)
{
    static const struct timeval limit = FAILURE_TIMEVAL(COORD_CONNECT_MS);
    struct auth_identity me = {.purpose = "agent", .rank = c->host, .generation = c->placed};
    struct address to;
    int fd, rc = address_parse(&to, c->coordinator, why);

    c->is_proved = false;
    c->attempt_ms = clock_ms() + HANDSHAKE_MS;
    if (!rc)
        rc = frame_reader_create(&c->reader, FRAME_LIMIT_SMALL, why);
    if (!rc)
        rc = auth_create_connector(&c->auth, c->job, c->secret, &me, why);
    if (!rc)
        rc = address_connect_start(&to, &fd, why);
    if (rc)
        return rc;
    c->stream = bufferevent_socket_new(c->base, fd, BEV_OPT_CLOSE_ON_FREE);
    if (!c->stream) {
        close(fd);
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    }
    bufferevent_setcb(c->stream, on_read, on_written, on_event, c);
    bufferevent_setwatermark(c->stream, EV_WRITE, DRAINED, 0);
    bufferevent_set_timeouts(c->stream, &limit, &limit);
    bufferevent_enable(c->stream, EV_READ | EV_WRITE);
    return handshake_send(c, why); /* sent once connected */
}

static void on_again(evutil_socket_t fd, short what, void *arg)
{
    struct agent_client *c = arg;
    struct fault why;
    int rc = stream_connect(c, &why);

    (void)fd, (void)what;
    if (rc == ML_ERR_LINK)
        agent_client_try_again(c, why.text);
    else if (rc)
        agent_client_lose(c, why.text);
}

int agent_client_open(struct agent_client **out, struct event_base *base, const char *coordinator,
                      const char *job, const uint8_t secret[AUTH_SECRET], int host, uint32_t placed,
                      int timeout_ms, const struct agent_client_events *events, struct fault *why)
{
    struct agent_client *c = calloc(1, sizeof(*c));
    int rc;

    if (!c)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    c->base = base;
    c->host = host;
    c->placed = placed;
    c->events = *events;
    c->reach_ms = clock_ms() + HANDSHAKE_MS;
    c->deadline_ms = clock_ms() + timeout_ms;
    snprintf(c->job, sizeof(c->job), "%s", job);
    memcpy(c->secret, secret, AUTH_SECRET);
    snprintf(c->coordinator, sizeof(c->coordinator), "%s", coordinator);
    c->waiting = evbuffer_new();
    c->again = evtimer_new(base, on_again, c);
    rc = c->waiting && c->again ? 0 : fault_set(why, ML_ERR_MEMORY, "out of memory");
    if (!rc)
        rc = stream_connect(c, why);
    if (rc == ML_ERR_LINK) {
        rc = 0;
        agent_client_try_again(c, why->text);
    }
    if (rc) {
        agent_client_close(c);
        return rc;
    }
    *out = c;
    return 0;
}

void agent_client_exited(struct agent_client *c, int rank, int64_t pid, const char *text)
{
    agent_client_put_json(c, COORD_EXITED,
                          json_pack("{s:i, s:I, s:o}", "rank", rank, "pid", (json_int_t)pid, "text",
                                    text_json(text)));
}

void agent_client_share(struct agent_client *c, uint32_t number, const void *bytes, size_t size)
{
    uint32_t word = htonl(number);

    agent_client_put(c, COORD_EXCHANGE, &word, sizeof(word), bytes, size);
}

void agent_client_pass(struct agent_client *c, int host, const void *bytes, size_t size)
{
    uint32_t word = htonl((uint32_t)host);

    agent_client_put(c, COORD_PASS, &word, sizeof(word), bytes, size);
}

void agent_client_name(struct agent_client *c, int ask, const char *what, const char *service,
                       const char *port)
{
    agent_client_put_json(c, COORD_NAME,
                          json_pack("{s:i, s:s, s:s, s:s*}", "ask", ask, "what", what, "service",
                                    service, "port", port));
}

void agent_client_rank_opened(struct agent_client *c, uint32_t channel, int rank,
                              uint32_t generation)
{
    uint32_t words[] = {htonl(channel), htonl((uint32_t)rank), htonl(generation)};

    agent_client_put(c, COORD_RANK_OPENED, words, sizeof(words), "", 0);
}

void agent_client_rank_sent(struct agent_client *c, uint32_t channel, const struct frame *f)
{
    uint8_t head[sizeof(channel) + 1];

    channel = htonl(channel);
    memcpy(head, &channel, sizeof(channel));
    head[sizeof(channel)] = f->type;
    agent_client_put(c, COORD_RANK_SENT, head, sizeof(head), f->payload, f->size);
}

void agent_client_rank_closed(struct agent_client *c, uint32_t channel)
{
    uint32_t word = htonl(channel);

    agent_client_put(c, COORD_RANK_CLOSED, &word, sizeof(word), "", 0);
}

size_t agent_client_unsent(const struct agent_client *c)
{
    if (c->waiting)
        return evbuffer_get_length(c->waiting);
    return c->stream ? evbuffer_get_length(bufferevent_get_output(c->stream)) : 0;
}

void agent_client_close(struct agent_client *c)
{
    if (!c)
        return;
    if (c->stream) {
        /* The last reports must not be lost with the connection. */
        evbuffer_unfreeze(bufferevent_get_output(c->stream), 1);
        evbuffer_write(bufferevent_get_output(c->stream), bufferevent_getfd(c->stream));
    }
    agent_client_drop_stream(c);
    if (c->again)
        event_free(c->again);
    if (c->waiting)
        evbuffer_free(c->waiting);
    sodium_memzero(c->secret, sizeof(c->secret));
    free(c);
}

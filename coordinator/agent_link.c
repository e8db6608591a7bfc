/* SPDX-License-Identifier: MIT */
#include "coordinator/agent_link.h"

#include "common/address.h"
#include "common/frame.h"
#include "common/text/text_json.h"
#include "coordinator/protocol.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HANDSHAKE_S = 10 };

struct agent_link {
    struct bufferevent *stream; /* NULL once lost */
    struct evbuffer *waiting;   /* frames to send once the handshake is over; NULL then */
    struct auth *auth;
    struct frame_reader *reader;
    char coordinator[ADDRESS_TEXT];
    void (*on_lost)(const char *text, void *arg);
    void *arg;
};

static void link_lose(struct agent_link *l, const char *reason)
{
    char text[640];

    if (!l->stream)
        return;
    bufferevent_free(l->stream);
    l->stream = NULL;
    snprintf(text, sizeof(text), "the job's coordinator at %s: %s", l->coordinator, reason);
    l->on_lost(text, l->arg); /* may close the link */
}

static void link_put(struct agent_link *l, uint8_t type, json_t *message)
{
    struct evbuffer *to = l->waiting;
    char *text = json_dumps(message, JSON_COMPACT);
    uint8_t header[FRAME_HEADER];

    if (!to && l->stream)
        to = bufferevent_get_output(l->stream);
    if (text && to) {
        frame_header(header, type, (uint32_t)strlen(text));
        evbuffer_add(to, header, sizeof(header));
        evbuffer_add(to, text, strlen(text));
    }
    free(text);
    json_decref(message);
}

static void handshake_send(struct agent_link *l)
{
    size_t size;
    const void *frame = auth_output(l->auth, &size);

    if (size > 0)
        bufferevent_write(l->stream, frame, size);
}

/* Handles a frame of the handshake. Once it is over the waiting frames are sent. */
static int handshake_take(struct agent_link *l, const struct frame *f, struct fault *why)
{
    enum auth_progress progress;
    int rc = auth_input(l->auth, f, &progress, why);

    if (rc)
        return rc;
    handshake_send(l);
    if (progress == AUTH_DONE) {
        bufferevent_set_timeouts(l->stream, NULL, NULL);
        bufferevent_write_buffer(l->stream, l->waiting);
        evbuffer_free(l->waiting);
        l->waiting = NULL;
    }
    return 0;
}

/* After the handshake the coordinator sends nothing to agents, except a refusal. */
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
        if (l->waiting || f.type == AUTH_FRAME_REFUSED)
            rc = handshake_take(l, &f, &why);
    }
    if (rc < 0)
        link_lose(l, why.text);
}

static void on_event(struct bufferevent *stream, short what, void *arg)
{
    struct agent_link *l = arg;

    (void)stream;
    if (what & BEV_EVENT_TIMEOUT)
        link_lose(l, "no answer in time");
    else if (what & BEV_EVENT_ERROR)
        link_lose(l, evutil_socket_error_to_string(EVUTIL_SOCKET_ERROR()));
    else if (what & BEV_EVENT_EOF)
        link_lose(l, "the connection was closed by the other side");
}

static int stream_connect(struct agent_link *l, struct event_base *base, struct fault *why)
{
    static const struct timeval limit = {.tv_sec = HANDSHAKE_S};
    struct address to;
    int fd, rc = address_parse(&to, l->coordinator, why);

    if (!rc)
        rc = address_connect_start(&to, &fd, why);
    if (rc)
        return rc;
    l->stream = bufferevent_socket_new(base, fd, BEV_OPT_CLOSE_ON_FREE);
    if (!l->stream) {
        close(fd);
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    }
    bufferevent_setcb(l->stream, on_read, NULL, on_event, l);
    bufferevent_set_timeouts(l->stream, &limit, &limit);
    bufferevent_enable(l->stream, EV_READ | EV_WRITE);
    handshake_send(l); /* sent once connected */
    return 0;
}

int agent_link_open(struct agent_link **out, struct event_base *base, const char *coordinator,
                    const char *job, const uint8_t secret[AUTH_SECRET], int host,
                    void (*lost)(const char *text, void *arg), void *arg, struct fault *why)
{
    struct auth_identity me = {.purpose = "agent", .rank = host};
    struct agent_link *l = calloc(1, sizeof(*l));
    int rc;

    if (!l)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    l->on_lost = lost;
    l->arg = arg;
    snprintf(l->coordinator, sizeof(l->coordinator), "%s", coordinator);
    l->waiting = evbuffer_new();
    rc = l->waiting ? 0 : fault_set(why, ML_ERR_MEMORY, "out of memory");
    if (!rc)
        rc = frame_reader_create(&l->reader, FRAME_LIMIT_SMALL, why);
    if (!rc)
        rc = auth_create_connector(&l->auth, job, secret, &me, why);
    if (!rc)
        rc = stream_connect(l, base, why);
    if (rc) {
        agent_link_close(l);
        return rc;
    }
    link_put(l, COORD_AGENT, json_pack("{s:i}", "host", host));
    *out = l;
    return 0;
}

void agent_link_exited(struct agent_link *l, int rank, int64_t pid, const char *text)
{
    link_put(l, COORD_EXITED,
             json_pack("{s:i, s:I, s:o}", "rank", rank, "pid", (json_int_t)pid, "text",
                       text_json(text)));
}

void agent_link_close(struct agent_link *l)
{
    if (!l)
        return;
    if (l->stream) {
        /* The last reports must not be lost with the connection. */
        evbuffer_unfreeze(bufferevent_get_output(l->stream), 1);
        evbuffer_write(bufferevent_get_output(l->stream), bufferevent_getfd(l->stream));
        bufferevent_free(l->stream);
    }
    if (l->waiting)
        evbuffer_free(l->waiting);
    frame_reader_destroy(l->reader);
    auth_destroy(l->auth);
    free(l);
}

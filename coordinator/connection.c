/* SPDX-License-Identifier: MIT */
/* connection.c: one socket from accept() to its end: the handshake, and frames in both
 * directions. */
#include "coordinator/connection.h"

#include "common/failure_times.h"
#include "common/net/stranger_limits.h"
#include "common/text/text_json.h"
#include "coordinator/connection_send.h"
#include "coordinator/protocol.h"
#include "coordinator/sentence.h"

#include <arpa/inet.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    /* Refusals reported one by one; then only each time that their number has doubled. */
    REFUSALS_NAMED = 20,
};

static void on_read(struct bufferevent *stream, void *arg);
static void on_written(struct bufferevent *stream, void *arg);
static void on_event(struct bufferevent *stream, short what, void *arg);

static void connection_free(struct connection *c)
{
    if (c->deadline)
        event_free(c->deadline);
    if (c->stream)
        bufferevent_free(c->stream); /* closes the socket */
    frame_reader_destroy(c->reader);
    auth_destroy(c->auth);
    connection_free_all(&c->relayed);
    free(c->cast);
    free(c);
}

void connection_free_all(struct connection_list *list)
{
    struct connection *c;

    while ((c = TAILQ_FIRST(list))) {
        TAILQ_REMOVE(list, c, entry);
        connection_free(c);
    }
}

static bool connection_is_pending(const struct connection *c)
{
    return c->state == CONNECTION_HANDSHAKE || c->state == CONNECTION_LINGER;
}

/* The agent closes its rank's connection. */
static void relayed_unlist(struct connection *c)
{
    uint32_t channel = htonl(c->channel);

    TAILQ_REMOVE(&c->agent->relayed, c, entry);
    c->agent->relayed_count--;
    connection_send(c->agent, COORD_RANK_DROPPED, &channel, sizeof(channel));
}

static void connection_unlist(struct connection *c)
{
    if (connection_is_pending(c))
        strangers_remove(&c->server->door.strangers, &c->stranger);
    else if (c->agent)
        relayed_unlist(c);
    else
        TAILQ_REMOVE(&c->server->known, c, entry);
}

void connection_drop(struct connection *c)
{
    enum connection_state was = c->state;

    if (was == CONNECTION_CLOSED)
        return;
    connection_unlist(c);
    c->state = CONNECTION_CLOSED;
    TAILQ_INSERT_TAIL(&c->server->closed, c, entry);
    if (c->stream) {
        bufferevent_disable(c->stream, EV_READ | EV_WRITE);
        /* Not left to the sweeper: a rank that is still alive should notice at once. */
        shutdown(bufferevent_getfd(c->stream), SHUT_RDWR);
    }
    event_active(c->server->sweeper, 0, 0);
    if (was == CONNECTION_RANK || was == CONNECTION_AGENT)
        c->server->handlers.on_closed(c, was);
}

static const char *server_role(const struct server *s)
{
    return s->relay ? "the agent" : "the coordinator";
}

static void refusal_report(struct server *s, const char *peer, const char *text)
{
    char line[400];

    s->door.refused++;
    if (!s->events.on_refused ||
        (s->door.refused > REFUSALS_NAMED && (s->door.refused & (s->door.refused - 1)) != 0))
        return;
    snprintf(line, sizeof(line), "%s refused a connection from %s (%u so far): %.250s",
             server_role(s), peer, s->door.refused, text);
    s->events.on_refused(line, s->events.arg);
}

static void on_deadline(evutil_socket_t fd, short what, void *arg)
{
    struct connection *c = arg;
    char text[80];

    (void)fd, (void)what;
    snprintf(text, sizeof(text), "it did not prove within %g s that it belongs to this job",
             FAILURE_SECONDS(STRANGER_MS));
    if (c->state == CONNECTION_HANDSHAKE)
        refusal_report(c->server, c->peer, text);
    connection_drop(c);
}

static void connection_set_deadline(struct connection *c, int ms)
{
    struct timeval time = {.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000};

    event_add(c->deadline, &time);
}

/* Closes the connection after everything written has been sent. An immediate close, with unread
 * input, would reset the connection, and the peer might never read the refusal. */
static void connection_linger(struct connection *c)
{
    c->state = CONNECTION_LINGER;
    strangers_idle(&c->stranger);
    bufferevent_setcb(c->stream, on_read, on_written, on_event, c);
    connection_set_deadline(c, LINGER_MS);
    if (evbuffer_get_length(bufferevent_get_output(c->stream)) == 0)
        on_written(c->stream, c);
}

static void handshake_send(struct connection *c)
{
    size_t size;
    const void *frame = auth_output(c->auth, &size);

    if (size > 0 && bufferevent_write(c->stream, frame, size))
        connection_give_up(c);
}

static const char too_many[] = "too many connections are in the handshake";

static void push_out(struct stranger *x)
{
    struct connection *c = (struct connection *)x;

    refusal_report(c->server, c->peer, too_many);
    connection_drop(c);
}

bool connection_push_out(struct server *s)
{
    struct stranger *x = strangers_first_out(&s->door.strangers);

    if (x)
        push_out(x);
    return x != NULL;
}

static void peer_describe(int fd, const struct address *from, char out[ADDRESS_TEXT])
{
    struct ucred who = {0};
    socklen_t size = sizeof(who);

    if (from->storage.ss_family != AF_UNIX)
        address_format(from, out);
    else if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) == 0)
        snprintf(out, ADDRESS_TEXT, "pid %d", (int)who.pid);
}

/* Makes room for a connection from there. False: it is refused. */
static bool has_room(struct server *s, const struct address *from, const char *peer)
{
    struct stranger *out;

    if (!strangers_room(&s->door.strangers, from, &out)) {
        refusal_report(s, peer, too_many);
        return false;
    }
    if (out)
        push_out(out);
    return true;
}

void connection_accept(struct server *s, int fd)
{
    struct address from = {.length = sizeof(from.storage)};
    char peer[ADDRESS_TEXT] = "";
    struct connection *c;

    if (getpeername(fd, (struct sockaddr *)&from.storage, &from.length) == 0)
        peer_describe(fd, &from, peer);
    c = has_room(s, &from, peer) ? calloc(1, sizeof(*c)) : NULL;
    if (!c) {
        close(fd);
        return;
    }
    c->server = s;
    memcpy(c->peer, peer, sizeof(peer));
    TAILQ_INIT(&c->relayed);
    c->stream = bufferevent_socket_new(s->base, fd, BEV_OPT_CLOSE_ON_FREE);
    if (!c->stream) {
        close(fd);
        free(c);
        return;
    }
    c->deadline = evtimer_new(s->base, on_deadline, c);
    if (!c->deadline || frame_reader_create(&c->reader, STRANGER_FRAME, NULL) ||
        auth_create_acceptor(&c->auth, s->job, s->secret, NULL) ||
        strangers_add(&s->door.strangers, &c->stranger, &from, NULL)) {
        connection_free(c);
        return;
    }
    connection_set_deadline(c, STRANGER_MS);
    bufferevent_setcb(c->stream, on_read, NULL, on_event, c);
    bufferevent_enable(c->stream, EV_READ | EV_WRITE);
}

static void connection_refuse(struct connection *c, const char *text)
{
    refusal_report(c->server, c->peer, text);
    connection_send_json(c, AUTH_FRAME_REFUSED, json_pack("{s:o}", "text", text_json(text)));
    connection_linger(c);
}

/* The peer has proved its identity. */
static void connection_admit(struct connection *c)
{
    struct server *s = c->server;
    char text[256];

    if (!s->handlers.on_identity(c, auth_peer(c->auth), text, sizeof(text))) {
        connection_refuse(c, text);
        return;
    }
    strangers_remove(&s->door.strangers, &c->stranger);
    TAILQ_INSERT_TAIL(&s->known, c, entry);
    event_del(c->deadline);
    frame_reader_limit(c->reader, FRAME_LIMIT);
    auth_destroy(c->auth);
    c->auth = NULL;
    connection_send_json(c, COORD_ADMITTED, json_object());
    if (c->state == CONNECTION_AGENT)
        s->handlers.on_agent(c);
}

static void handshake_take(struct connection *c, const struct frame *f)
{
    enum auth_progress progress;
    struct fault why;
    int rc = auth_input(c->auth, f, &progress, &why);

    handshake_send(c);
    if (rc) {
        refusal_report(c->server, c->peer, why.text);
        connection_linger(c);
    } else if (progress == AUTH_DONE) {
        connection_admit(c);
    } else {
        strangers_begin(&c->stranger);
    }
}

/* Passes the input to the frame reader. During the handshake the reader limits it to the memory of
 * one small frame: what follows the handshake is looked at only after it. */
static int connection_feed(struct connection *c, struct fault *why)
{
    struct evbuffer *in = bufferevent_get_input(c->stream);
    struct evbuffer_iovec piece;

    while (evbuffer_peek(in, -1, NULL, &piece, 1) > 0 && piece.iov_len > 0) {
        int rc = frame_reader_feed(c->reader, piece.iov_base, piece.iov_len, why);

        if (rc)
            return rc;
        evbuffer_drain(in, piece.iov_len);
    }
    return 0;
}

static void connection_discard(struct connection *c)
{
    struct evbuffer *in = bufferevent_get_input(c->stream);

    c->discarded += evbuffer_get_length(in);
    evbuffer_drain(in, evbuffer_get_length(in));
    if (c->discarded > STRANGER_BYTES - 2 * (FRAME_HEADER + STRANGER_FRAME))
        connection_drop(c);
}

void connection_cut_off(struct connection *c, const struct fault *why)
{
    struct server *s = c->server;
    char text[640] = "";

    sentence_add(text, sizeof(text), "%s cut off ", server_role(s));
    if (c->state == CONNECTION_RANK)
        sentence_add_rank(s, text, sizeof(text), c->rank);
    else
        sentence_add(text, sizeof(text), "the agent of host %s", s->host_names[c->host]);
    sentence_add(text, sizeof(text), ": %s", why->text);
    if (s->events.on_refused)
        s->events.on_refused(text, s->events.arg);
    connection_drop(c);
}

static void on_read(struct bufferevent *stream, void *arg)
{
    struct connection *c = arg;
    struct fault why = {0};
    struct frame f;
    int rc;

    (void)stream;
    if (c->state == CONNECTION_LINGER) {
        connection_discard(c);
        return;
    }
    rc = connection_feed(c, &why);
    while (rc >= 0 && (rc = frame_reader_next(c->reader, &f, &why)) > 0) {
        if (c->state == CONNECTION_HANDSHAKE)
            handshake_take(c, &f);
        else
            rc = c->server->handlers.on_frame(c, &f, &why);
        if (c->state == CONNECTION_LINGER || c->state == CONNECTION_CLOSED)
            return;
    }
    if (rc < 0 && c->state == CONNECTION_HANDSHAKE)
        connection_refuse(c, why.text);
    else if (rc < 0)
        connection_cut_off(c, &why);
}

static void on_written(struct bufferevent *stream, void *arg)
{
    (void)arg;
    shutdown(bufferevent_getfd(stream), SHUT_WR);
}

static void on_event(struct bufferevent *stream, short what, void *arg)
{
    (void)stream;
    if (what & (BEV_EVENT_EOF | BEV_EVENT_ERROR))
        connection_drop(arg);
}

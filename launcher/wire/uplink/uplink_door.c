/* SPDX-License-Identifier: MIT */
#include "launcher/wire/uplink/uplink_door.h"

#include "common/clock.h"
#include "common/failure_times.h"
#include "common/net/stranger_limits.h"
#include "common/net/strangers.h"
#include "launcher/wire/uplink/stream/uplink_protocol.h"

#include <errno.h>
#include <event2/event.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    BACKLOG = 1024,
    ACCEPT_AGAIN_MS = 100, /* after descriptors have run out */
    REFUSALS_NAMED = 10,   /* then only each time that their number has doubled */
};

/* A connection that has not proved anything yet, or is to read why it was refused. */
struct uplink_guest {
    struct stranger stranger;
    struct uplink_door *door;
    int fd;
    struct event *readable, *deadline;
    struct frame_reader *reader;
    struct auth *auth;
    size_t bytes;
    bool is_refused;
    char from[ADDRESS_TEXT];
};

struct uplink_door {
    struct event_base *base;
    struct uplink_door_events events;
    uint8_t key[AUTH_SECRET];
    int listener;
    unsigned refused;
    char where[ADDRESS_TEXT];
    struct event *on_accept, *accept_again;
    struct strangers guests;
};

static void guest_free(struct uplink_guest *g)
{
    if (g->readable)
        event_free(g->readable);
    if (g->deadline)
        event_free(g->deadline);
    frame_reader_destroy(g->reader);
    auth_destroy(g->auth);
    if (g->fd >= 0)
        close(g->fd);
    free(g);
}

static void guest_remove(struct uplink_guest *g)
{
    strangers_remove(&g->door->guests, &g->stranger);
    guest_free(g);
}

static void refusal_report(struct uplink_door *d, const char *from, const char *text)
{
    char line[400];

    d->refused++;
    if (d->refused > REFUSALS_NAMED && (d->refused & (d->refused - 1)) != 0)
        return;
    snprintf(line, sizeof(line), "refused a connection from %s to %s (%u so far): %.200s", from,
             d->where, d->refused, text);
    d->events.on_refused(line, d->events.arg);
}

static const char too_many[] = "too many connections have not proved anything";

static void guest_push_out(struct stranger *x)
{
    struct uplink_guest *g = (struct uplink_guest *)x;

    if (!g->is_refused)
        refusal_report(g->door, g->from, too_many);
    guest_remove(g);
}

/* Makes room for a guest from there. False: it is refused. */
static bool has_room(struct uplink_door *d, const struct address *from, const char *text)
{
    struct stranger *out;

    if (!strangers_room(&d->guests, from, &out)) {
        refusal_report(d, text, too_many);
        return false;
    }
    if (out)
        guest_push_out(out);
    return true;
}

/* The output of an accepting side is shorter than any socket's buffer. False: it was not taken. */
static bool guest_answer(struct uplink_guest *g)
{
    size_t size;
    const void *bytes = auth_output(g->auth, &size);

    return size == 0 || send(g->fd, bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)size;
}

/* Lets it read why: closing with unread input would reset the connection. */
static void guest_refuse(struct uplink_guest *g, const char *text)
{
    static const struct timeval linger = FAILURE_TIMEVAL(LINGER_MS);

    refusal_report(g->door, g->from, text);
    g->is_refused = true;
    strangers_idle(&g->stranger);
    shutdown(g->fd, SHUT_WR);
    if (event_add(g->deadline, &linger))
        guest_remove(g);
}

static void guest_admit(struct uplink_guest *g)
{
    struct auth_identity id = *auth_peer(g->auth);
    struct uplink_door *d = g->door;
    struct auth_keys keys;
    char from[ADDRESS_TEXT];
    int fd = g->fd;

    auth_derive_keys(g->auth, &keys);
    memcpy(from, g->from, sizeof(from));
    event_del(g->readable);
    g->fd = -1;
    guest_remove(g);
    d->events.on_admitted(fd, &id, &keys, from, d->events.arg);
    sodium_memzero(&keys, sizeof(keys));
}

/* False: the guest is gone. */
static bool guest_take(struct uplink_guest *g, const struct frame *f)
{
    enum auth_progress progress;
    struct fault why;
    int rc = auth_input(g->auth, f, &progress, &why);

    if (!guest_answer(g)) {
        guest_remove(g);
        return false;
    }
    if (!rc && progress == AUTH_DONE && strcmp(auth_peer(g->auth)->purpose, UPLINK_PURPOSE) != 0)
        rc = fault_set(&why, ML_ERR_REFUSED, "it came for something else than to join");
    if (rc)
        guest_refuse(g, why.text);
    else if (progress == AUTH_DONE)
        guest_admit(g);
    else
        strangers_begin(&g->stranger);
    return !rc && progress != AUTH_DONE;
}

static void guest_read(struct uplink_guest *g)
{
    uint8_t bytes[1024];
    ssize_t n = recv(g->fd, bytes, sizeof(bytes), MSG_DONTWAIT);
    struct fault why;
    struct frame f;
    int rc;

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n > 0)
        g->bytes += (size_t)n;
    if (n <= 0 || g->bytes > STRANGER_BYTES) {
        guest_remove(g);
        return;
    }
    if (g->is_refused)
        return;
    rc = frame_reader_feed(g->reader, bytes, (size_t)n, &why);
    while (!rc && (rc = frame_reader_next(g->reader, &f, &why)) > 0) {
        if (!guest_take(g, &f))
            return;
        rc = 0;
    }
    if (rc < 0)
        guest_refuse(g, why.text);
}

static void on_guest(evutil_socket_t fd, short what, void *arg)
{
    (void)fd, (void)what;
    guest_read(arg);
}

static void on_deadline(evutil_socket_t fd, short what, void *arg)
{
    struct uplink_guest *g = arg;
    char text[80];

    (void)fd, (void)what;
    snprintf(text, sizeof(text), "it did not prove within %g s that it has the key",
             FAILURE_SECONDS(STRANGER_MS));
    if (!g->is_refused)
        refusal_report(g->door, g->from, text);
    guest_remove(g);
}

static void guest_add(struct uplink_door *d, int fd)
{
    static const struct timeval limit = FAILURE_TIMEVAL(STRANGER_MS);
    struct address from = {.length = sizeof(from.storage)};
    char text[ADDRESS_TEXT] = "";
    struct uplink_guest *g;

    if (getpeername(fd, (struct sockaddr *)&from.storage, &from.length) == 0)
        address_format(&from, text);
    g = has_room(d, &from, text) ? calloc(1, sizeof(*g)) : NULL;
    if (!g) {
        close(fd);
        return;
    }
    g->door = d;
    g->fd = fd;
    memcpy(g->from, text, sizeof(text));
    g->readable = event_new(d->base, fd, EV_READ | EV_PERSIST, on_guest, g);
    g->deadline = evtimer_new(d->base, on_deadline, g);
    if (!g->readable || !g->deadline || frame_reader_create(&g->reader, STRANGER_FRAME, NULL) ||
        auth_create_acceptor(&g->auth, UPLINK_PURPOSE, d->key, NULL) ||
        auth_exchange_keys(g->auth, NULL) || event_add(g->readable, NULL) ||
        event_add(g->deadline, &limit) || strangers_add(&d->guests, &g->stranger, &from, NULL))
        guest_free(g);
}

static void on_accept(evutil_socket_t listener, short what, void *arg)
{
    static const struct timeval pause = {.tv_usec = ACCEPT_AGAIN_MS * 1000};
    struct uplink_door *d = arg;

    (void)what;
    for (int i = 0; i < STRANGERS_AT_ONCE; i++) {
        int fd = address_accept(listener);

        if (fd >= 0) {
            guest_add(d, fd);
        } else if (address_is_exhausted(errno)) {
            struct stranger *out = strangers_first_out(&d->guests);

            if (out) {
                guest_push_out(out);
                return;
            }
            /* The listener stays readable, so without a pause the loop would spin. */
            event_del(d->on_accept);
            event_add(d->accept_again, &pause);
            return;
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            return;
        } /* else: only that connection failed */
    }
}

static void on_accept_again(evutil_socket_t fd, short what, void *arg)
{
    struct uplink_door *d = arg;

    (void)fd, (void)what;
    event_add(d->on_accept, NULL);
}

int uplink_door_open(struct uplink_door **out, struct event_base *base, const char *ip,
                     uint16_t port, int expected, const uint8_t key[AUTH_SECRET],
                     const struct uplink_door_events *events, struct fault *why)
{
    struct uplink_door *d = calloc(1, sizeof(*d));
    struct address bound;
    int rc;

    if (!d)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    *d = (struct uplink_door){.base = base, .events = *events, .listener = -1};
    memcpy(d->key, key, sizeof(d->key));
    strangers_init(&d->guests, STRANGERS_UPLINK + 2 * expected);
    rc = address_listen_every(ip, port, BACKLOG, &d->listener, &bound, why);
    if (!rc) {
        address_format(&bound, d->where);
        d->on_accept = event_new(base, d->listener, EV_READ | EV_PERSIST, on_accept, d);
        d->accept_again = evtimer_new(base, on_accept_again, d);
        if (!d->on_accept || !d->accept_again || event_add(d->on_accept, NULL))
            rc = fault_set(why, ML_ERR_MEMORY, "out of memory");
    }
    if (rc)
        uplink_door_close(d);
    else
        *out = d;
    return rc;
}

void uplink_door_close(struct uplink_door *d)
{
    struct stranger *x;

    if (!d)
        return;
    while ((x = strangers_first_out(&d->guests)))
        guest_remove((struct uplink_guest *)x);
    if (d->on_accept)
        event_free(d->on_accept);
    if (d->accept_again)
        event_free(d->accept_again);
    if (d->listener >= 0)
        close(d->listener);
    sodium_memzero(d->key, sizeof(d->key));
    free(d);
}

const char *uplink_door_where(const struct uplink_door *d)
{
    return d->where;
}

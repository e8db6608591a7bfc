/* SPDX-License-Identifier: MIT */
#include "launcher/agent/sync/sync_link.h"

#include "common/clock.h"
#include "launcher/agent/host/own_address.h"
#include "launcher/tree/sync_wire.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BACKLOG = 128 };

int sync_link_open(struct sync_link *l, const struct sync_order *order, char address[ADDRESS_TEXT],
                   struct fault *why)
{
    struct address bound;
    int rc;

    *l = (struct sync_link){.listener = -1, .previous = -1, .next = -1, .early = -1};
    if (!own_address_is_here(order->ip))
        return fault_set(why, ML_ERR_ARGUMENT, "%s is none of its addresses", order->ip);
    rc = address_listen(order->ip, 0, BACKLOG, &l->listener, &bound, why);
    if (!rc)
        address_format(&bound, address);
    return rc;
}

static void socket_close(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* Keeps a connection that belongs to a chain of which this host has not heard yet. */
static void early_keep(struct sync_link *l, int fd, const struct auth_identity *peer)
{
    socket_close(&l->early);
    l->early = fd;
    l->early_peer = *peer;
}

static void early_take(struct sync_link *l, const struct sync_place *place)
{
    if (l->early < 0 || l->early_peer.generation > place->round)
        return;
    if (!place->is_fed && l->early_peer.generation == place->round &&
        l->early_peer.rank == place->previous)
        l->previous = l->early;
    else
        close(l->early);
    l->early = -1;
}

/* A free place, or that of the guest that has been silent for longest, which is dropped: so the
 * host that is expected, and speaks at once, gets in however many strangers there are. */
static struct sync_guest *guest_place(struct sync_link *l)
{
    struct sync_guest *out = NULL;

    for (int i = 0; i < SYNC_GUESTS; i++) {
        struct sync_guest *g = &l->guests[i];

        if (g->state == SYNC_GUEST_FREE)
            return g;
        if (!out || (g->has_spoken != out->has_spoken ? out->has_spoken
                                                      : g->deadline_ms < out->deadline_ms))
            out = g;
    }
    sync_guest_drop(out);
    return out;
}

static void guests_accept(struct sync_link *l, const struct sync_order *order)
{
    int fd = -1;

    /* Not all that are waiting: those that have been accepted should not wait for a flood. */
    for (int i = 0; i < SYNC_GUESTS && (fd = address_accept(l->listener)) >= 0; i++)
        sync_guest_accept(guest_place(l), fd, order, NULL);
    if (fd < 0 && address_is_exhausted(errno))
        guest_place(l);
}

/* Strangers are turned away, and so is a host whose connection belongs to an older round. */
static void guest_admit(struct sync_link *l, struct sync_guest *g, const struct sync_place *place)
{
    struct auth_identity peer = *auth_peer(g->auth);
    int fd = sync_guest_take(g);

    if (strcmp(peer.purpose, SYNC_PURPOSE) == 0 && peer.generation > place->round)
        early_keep(l, fd, &peer);
    else if (strcmp(peer.purpose, SYNC_PURPOSE) == 0 && peer.generation == place->round &&
             peer.rank == place->previous && !place->is_fed && l->previous < 0)
        l->previous = fd;
    else
        close(fd);
}

static void guest_step(struct sync_link *l, struct sync_guest *g, bool is_ready,
                       const struct sync_place *place)
{
    if (g->state == SYNC_GUEST_FREE)
        return;
    if ((is_ready && sync_guest_step(g, NULL)) || clock_ms() >= g->deadline_ms)
        sync_guest_drop(g);
    else if (g->state == SYNC_GUEST_PROVED)
        guest_admit(l, g, place);
}

static int next_connect(struct sync_link *l, const struct sync_place *place,
                        const struct sync_order *order, struct fault *why)
{
    struct address to;
    int rc = address_parse(&to, place->address, why);

    return rc ? rc : sync_guest_connect(&l->host, &to, order, place->round, why);
}

/* The next host may drop a connection when many strangers connect to it: then another is made, as
 * long as there is time. */
static int next_step(struct sync_link *l, bool is_ready, const struct sync_place *place,
                     const struct sync_order *order, struct fault *why)
{
    int64_t deadline_ms = l->host.deadline_ms;
    int rc = is_ready ? sync_guest_step(&l->host, why) : 0;

    if (!rc && l->host.state == SYNC_GUEST_PROVED) {
        l->next = sync_guest_take(&l->host);
        return 0;
    }
    if (clock_ms() >= deadline_ms)
        return fault_set(why, ML_ERR_TIMEOUT, "cannot connect to %s: no answer in time",
                         place->address);
    if (rc == ML_ERR_LINK) {
        sync_guest_drop(&l->host);
        rc = next_connect(l, place, order, why);
        l->host.deadline_ms = deadline_ms;
    }
    return rc;
}

/* Waits for what comes first: a guest, an answer, an order. */
static int link_step(struct sync_link *l, struct sync_control *c, const struct sync_place *place,
                     const struct sync_order *order, struct fault *why)
{
    struct pollfd polls[3 + SYNC_GUESTS] = {
        [1] = {.fd = l->listener, .events = POLLIN},
        [2] = {.fd = l->host.state == SYNC_GUEST_FREE ? -1 : l->host.fd,
               .events = sync_guest_events(&l->host)}};
    int64_t deadline_ms = l->host.state == SYNC_GUEST_FREE ? -1 : l->host.deadline_ms;

    for (int i = 0; i < SYNC_GUESTS; i++) {
        const struct sync_guest *g = &l->guests[i];
        bool is_there = g->state != SYNC_GUEST_FREE;

        polls[3 + i] = (struct pollfd){.fd = is_there ? g->fd : -1, .events = sync_guest_events(g)};
        if (is_there && (deadline_ms < 0 || g->deadline_ms < deadline_ms))
            deadline_ms = g->deadline_ms;
    }
    sync_control_poll(c, polls, 3 + SYNC_GUESTS, deadline_ms);
    if (c->has_moved)
        return 1;
    for (int i = 0; i < SYNC_GUESTS; i++)
        guest_step(l, &l->guests[i], polls[3 + i].revents != 0, place);
    if (polls[1].revents)
        guests_accept(l, order);
    return l->host.state == SYNC_GUEST_FREE
               ? 0
               : next_step(l, polls[2].revents != 0, place, order, why);
}

int sync_link_make(struct sync_link *l, struct sync_control *c, const struct sync_order *order,
                   struct fault *why)
{
    struct sync_place place = c->place;
    int rc = 0;

    c->has_moved = false;
    socket_close(&l->previous);
    socket_close(&l->next);
    early_take(l, &place);
    if (place.next >= 0)
        rc = next_connect(l, &place, order, why);
    while (!rc && ((l->previous < 0 && !place.is_fed) || (l->next < 0 && place.next >= 0)))
        rc = link_step(l, c, &place, order, why);
    sync_guest_drop(&l->host);
    return rc;
}

int sync_link_read(struct sync_link *l, struct sync_control *c, void *bytes, size_t size,
                   int64_t deadline_ms, size_t *count, struct fault *why)
{
    for (;;) {
        ssize_t n;

        *count = c->has_moved || !c->place.is_fed ? 0 : sync_control_take(c, bytes, size);
        if (*count > 0 || c->has_moved)
            return 0;
        if (!sync_control_wait(c, c->place.is_fed ? -1 : l->previous, POLLIN, deadline_ms)) {
            if (deadline_ms >= 0 && clock_ms() >= deadline_ms)
                return 0;
            continue;
        }
        n = recv(l->previous, bytes, size, 0);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            continue;
        if (n < 0)
            return fault_os(why, ML_ERR_PEER, errno, "the connection broke");
        if (n == 0)
            return fault_set(why, ML_ERR_PEER, "the connection was closed");
        *count = (size_t)n;
        return 0;
    }
}

int sync_link_write(struct sync_link *l, struct sync_control *c, const void *bytes, size_t size,
                    struct fault *why)
{
    const char *from = bytes;

    while (size > 0 && l->next >= 0) {
        ssize_t n = send(l->next, from, size, MSG_NOSIGNAL);

        if (n < 0 && errno != EAGAIN && errno != EINTR)
            return fault_os(why, ML_ERR_PEER, errno, "the connection broke");
        if (n > 0) {
            from += n;
            size -= (size_t)n;
            continue;
        }
        sync_control_wait(c, l->next, POLLOUT, -1);
        if (c->has_moved)
            return 1;
    }
    return 0;
}

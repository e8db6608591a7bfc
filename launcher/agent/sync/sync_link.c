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

enum { BACKLOG = 16 };

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

static int auth_send(struct auth *a, int fd, struct fault *why)
{
    size_t size;
    const void *bytes = auth_output(a, &size);

    if (size > 0 && send(fd, bytes, size, MSG_NOSIGNAL) != (ssize_t)size)
        return fault_set(why, ML_ERR_PEER, "the connection was closed");
    return 0;
}

/* The accepting side of the handshake. */
static int auth_accept(int fd, const struct sync_order *order, struct auth_identity *peer,
                       struct fault *why)
{
    int64_t deadline = clock_ms() + SYNC_HANDSHAKE_MS;
    enum auth_progress progress = AUTH_MORE;
    struct frame_reader *reader = NULL;
    struct auth *a = NULL;
    struct frame f;
    int rc = frame_reader_create(&reader, FRAME_LIMIT_SMALL, why);

    if (!rc)
        rc = auth_create_acceptor(&a, order->job, order->secret, why);
    while (!rc && progress != AUTH_DONE) {
        rc = frame_recv(fd, reader, &f, deadline, why);
        if (!rc)
            rc = auth_input(a, &f, &progress, why);
        if (a && auth_send(a, fd, rc ? NULL : why) && !rc)
            rc = ML_ERR_PEER;
    }
    if (!rc)
        *peer = *auth_peer(a);
    auth_destroy(a);
    frame_reader_destroy(reader);
    return rc;
}

/* Keeps a connection that belongs to a chain of which this host has not heard yet. */
static void early_keep(struct sync_link *l, const struct auth_identity *peer)
{
    socket_close(&l->early);
    l->early = l->previous;
    l->early_peer = *peer;
    l->previous = -1;
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

/* Strangers are turned away, and so is a host whose connection belongs to an older round. */
static int previous_accept(struct sync_link *l, struct sync_control *c,
                           const struct sync_order *order)
{
    struct auth_identity peer;

    while (l->previous < 0) {
        bool is_ready = sync_control_wait(c, l->listener, POLLIN, -1);

        if (c->has_moved)
            return 1;
        if (is_ready)
            l->previous = address_accept(l->listener);
        if (l->previous < 0)
            continue;
        if (auth_accept(l->previous, order, &peer, NULL) ||
            strcmp(peer.purpose, SYNC_PURPOSE) != 0 || peer.generation < c->place.round)
            socket_close(&l->previous);
        else if (peer.generation > c->place.round)
            early_keep(l, &peer);
        else if (peer.rank != c->place.previous)
            socket_close(&l->previous);
    }
    return 0;
}

static int next_connect(struct sync_link *l, const struct sync_place *place, struct fault *why)
{
    struct address to;
    int rc = address_parse(&to, place->address, why);

    return rc ? rc : address_connect(&to, clock_ms() + SYNC_HANDSHAKE_MS, &l->next, why);
}

static int next_greet(struct sync_link *l, const struct sync_place *place,
                      const struct sync_order *order, struct fault *why)
{
    struct auth_identity me = {
        .purpose = SYNC_PURPOSE, .rank = order->host, .generation = place->round};
    struct frame_reader *reader = NULL;
    int rc = frame_reader_create(&reader, FRAME_LIMIT_SMALL, why);

    if (!rc)
        rc = auth_connect(l->next, reader, order->job, order->secret, &me,
                          clock_ms() + SYNC_HANDSHAKE_MS, why);
    frame_reader_destroy(reader);
    return rc;
}

/* All hosts do this at the same time. Connecting needs nobody's answer; each host then greets the
 * next one when it has been greeted itself. */
int sync_link_make(struct sync_link *l, struct sync_control *c, const struct sync_order *order,
                   bool *to_next, struct fault *why)
{
    struct sync_place place = c->place;
    int rc = 0;

    c->has_moved = false;
    socket_close(&l->previous);
    socket_close(&l->next);
    early_take(l, &place);
    *to_next = true;
    if (place.next >= 0)
        rc = next_connect(l, &place, why);
    if (!rc && !place.is_fed)
        rc = previous_accept(l, c, order);
    if (!rc && place.next >= 0)
        rc = next_greet(l, &place, order, why);
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

/* SPDX-License-Identifier: MIT */
#include "launcher/tools/copier/sync_guest.h"

#include "common/clock.h"
#include "common/net/stranger_limits.h"
#include "launcher/base/tree/sync_wire.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PART = 4096 /* bytes that are read in one step */ };

static int guest_open(struct sync_guest *g, int fd, enum sync_guest_state state, struct fault *why)
{
    *g = (struct sync_guest){
        .state = state, .fd = fd, .deadline_ms = clock_ms() + SYNC_HANDSHAKE_MS};
    return frame_reader_create(&g->reader, STRANGER_FRAME, why);
}

void sync_guest_drop(struct sync_guest *g)
{
    if (g->state != SYNC_GUEST_FREE)
        close(g->fd);
    auth_destroy(g->auth);
    frame_reader_destroy(g->reader);
    *g = (struct sync_guest){.state = SYNC_GUEST_FREE};
}

int sync_guest_take(struct sync_guest *g)
{
    int fd = g->fd;

    g->state = SYNC_GUEST_FREE;
    sync_guest_drop(g);
    return fd;
}

int sync_guest_accept(struct sync_guest *g, int fd, const struct sync_order *order,
                      struct fault *why)
{
    int rc = guest_open(g, fd, SYNC_GUEST_SHAKING, why);

    if (!rc)
        rc = auth_create_acceptor(&g->auth, order->job, order->secret, why);
    if (rc)
        sync_guest_drop(g);
    return rc;
}

int sync_guest_connect(struct sync_guest *g, const struct address *to,
                       const struct sync_order *order, uint32_t round, struct fault *why)
{
    const struct auth_identity me = {
        .purpose = SYNC_PURPOSE, .rank = order->host, .generation = round};
    int fd, rc = address_connect_start(to, &fd, why);

    if (rc)
        return rc;
    rc = guest_open(g, fd, SYNC_GUEST_CONNECTING, why);
    g->to = *to;
    if (!rc)
        rc = auth_create_connector(&g->auth, order->job, order->secret, &me, why);
    if (rc)
        sync_guest_drop(g);
    return rc;
}

short sync_guest_events(const struct sync_guest *g)
{
    return g->state == SYNC_GUEST_CONNECTING ? POLLOUT : POLLIN;
}

/* A handshake's frames are small, and each answers one of the other end: there is room for them. */
static int output_send(struct sync_guest *g, struct fault *why)
{
    size_t size;
    const void *bytes = auth_output(g->auth, &size);

    if (size > 0 && send(g->fd, bytes, size, MSG_NOSIGNAL) != (ssize_t)size)
        return fault_set(why, ML_ERR_LINK, "it closed the connection during the handshake");
    return 0;
}

static int connect_step(struct sync_guest *g, struct fault *why)
{
    socklen_t size = sizeof(int);
    char text[ADDRESS_TEXT];
    int err = 0;

    if (getsockopt(g->fd, SOL_SOCKET, SO_ERROR, &err, &size))
        err = errno;
    if (err) {
        address_format(&g->to, text);
        return fault_os(why, address_is_dropped(err) ? ML_ERR_LINK : ML_ERR_PEER, err,
                        "cannot connect to %s", text);
    }
    g->state = SYNC_GUEST_SHAKING;
    return output_send(g, why);
}

/* Reads what there is, and no more than a part, because others wait as well. */
static int part_read(struct sync_guest *g, struct fault *why)
{
    uint8_t *at;
    ssize_t n;
    int rc = frame_reader_room(g->reader, PART, &at, why);

    if (rc)
        return rc;
    n = recv(g->fd, at, PART, 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (n <= 0)
        return fault_set(why, ML_ERR_LINK, "it closed the connection during the handshake");
    frame_reader_add(g->reader, (size_t)n);
    return 0;
}

int sync_guest_step(struct sync_guest *g, struct fault *why)
{
    enum auth_progress progress = AUTH_MORE;
    struct frame f;
    int rc;

    if (g->state == SYNC_GUEST_CONNECTING)
        return connect_step(g, why);
    rc = part_read(g, why);
    while (!rc && progress != AUTH_DONE) {
        rc = frame_reader_next(g->reader, &f, why);
        if (rc <= 0)
            return rc;
        g->has_spoken = true;
        rc = auth_input(g->auth, &f, &progress, why);
        if (output_send(g, rc ? NULL : why) && !rc)
            rc = ML_ERR_LINK;
    }
    if (!rc)
        g->state = SYNC_GUEST_PROVED;
    return rc;
}

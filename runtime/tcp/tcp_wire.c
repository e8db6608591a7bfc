/* SPDX-License-Identifier: MIT */
#include "runtime/tcp/tcp_wire.h"

#include "common/clock.h"
#include "common/failure_times.h"
#include "common/net/stranger_limits.h"
#include "runtime/group/world.h"
#include "runtime/process/fork_guard.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

void tcp_wire_drop(struct tcp_wire *w)
{
    fork_guard_close(w->fd);
    auth_destroy(w->auth);
    frame_reader_destroy(w->reader);
    *w = (struct tcp_wire){.fd = -1, .peer = -1};
}

/* How long the other host may leave the connection unanswered (its kernel answers for a process
 * that makes no call); 0: as long as the kernel allows, which is for an established one. */
static void tcp_wire_patience(struct tcp_wire *w, int patience_ms)
{
    unsigned ms = (unsigned)patience_ms;

    setsockopt(w->fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &ms, sizeof(ms));
}

int tcp_wire_connect(struct tcp_wire *w, const struct group *g, struct fault *why)
{
    const struct world *world = g->world;
    struct auth_identity me = {
        .purpose = "mesh", .rank = world->rank, .generation = world->generation, .group = g->id};
    int rc = address_connect_start(&w->to, &w->fd, why);

    if (rc)
        return rc;
    fork_guard_add(w->fd);
    tcp_wire_patience(w, world->job.elastic && world->job.init_timeout_ms > TCP_CONNECT_MS
                             ? TCP_CONNECT_MS
                             : world->job.init_timeout_ms);
    rc = auth_create_connector(&w->auth, world->job.job, world->secret, &me, why);
    if (!rc)
        rc = frame_reader_create(&w->reader, FRAME_LIMIT_SMALL, why);
    if (rc)
        return rc;
    w->out = auth_output(w->auth, &w->out_size);
    w->state = TCP_WIRE_CONNECTING;
    return 0;
}

int tcp_wire_accept(struct tcp_wire *w, const struct world *world, int fd, struct fault *why)
{
    int rc;

    w->fd = fd;
    fork_guard_add(fd);
    rc = auth_create_acceptor(&w->auth, world->job.job, world->secret, why);
    if (!rc)
        rc = frame_reader_create(&w->reader, STRANGER_FRAME, why);
    if (rc)
        return rc;
    w->state = TCP_WIRE_SHAKING;
    w->deadline_ms = clock_ms() + STRANGER_MS;
    return 0;
}

static int tcp_wire_finish_connect(struct tcp_wire *w, struct fault *why)
{
    int err = 0;
    socklen_t size = sizeof(err);

    if (getsockopt(w->fd, SOL_SOCKET, SO_ERROR, &err, &size) != 0)
        err = errno;
    if (err == ETIMEDOUT)
        return fault_set(why, ML_ERR_TIMEOUT,
                         "no answer in time; is a firewall between the two? (--starting-port)");
    if (err)
        return fault_os(why, ML_ERR_LINK, err, "connect");
    tcp_wire_patience(w, 0);
    w->state = TCP_WIRE_SHAKING;
    return 0;
}

static int tcp_wire_write(struct tcp_wire *w, struct fault *why)
{
    while (w->out_size) {
        ssize_t n = send(w->fd, w->out, w->out_size, MSG_NOSIGNAL | MSG_DONTWAIT);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            return 0;
        if (n < 0)
            return fault_os(why, ML_ERR_LINK, errno, "the handshake was cut off");
        w->out += n;
        w->out_size -= (size_t)n;
    }
    return 0;
}

/* Reads no further than the handshake, since nothing follows it before this side has sent its
 * proof, or has decided. */
static int tcp_wire_read(struct tcp_wire *w, struct fault *why)
{
    unsigned char bytes[4096];
    ssize_t n = recv(w->fd, bytes, sizeof(bytes), MSG_DONTWAIT);
    enum auth_progress progress = AUTH_MORE;
    struct frame f;
    int rc;

    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
        return 0;
    if (n < 0)
        return fault_os(why, ML_ERR_LINK, errno, "the handshake was cut off");
    if (n == 0)
        return fault_set(why, ML_ERR_LINK, "it closed the connection during the handshake");
    rc = frame_reader_feed(w->reader, bytes, (size_t)n, why);
    while (!rc && !w->is_proved && (rc = frame_reader_next(w->reader, &f, why)) > 0) {
        rc = auth_input(w->auth, &f, &progress, why);
        w->out = auth_output(w->auth, &w->out_size);
        w->is_proved = progress == AUTH_DONE;
        w->has_spoken |= rc == 0;
    }
    if (rc < 0) {
        tcp_wire_write(w, NULL); /* tells the peer why, if it is still there */
        return rc;
    }
    return tcp_wire_write(w, why);
}

int tcp_wire_step(struct tcp_wire *w, short revents, struct fault *why)
{
    int rc = 0;

    if (!revents)
        return 0;
    if (w->state == TCP_WIRE_CONNECTING)
        rc = tcp_wire_finish_connect(w, why);
    if (!rc)
        rc = tcp_wire_write(w, why);
    if (!rc && (revents & (POLLIN | POLLHUP | POLLERR)))
        rc = tcp_wire_read(w, why);
    return rc;
}

bool tcp_wire_decide(struct tcp_wire *w, bool takes)
{
    const char verdict = takes ? TCP_VERDICT_TAKEN : TCP_VERDICT_REFUSED;

    return send(w->fd, &verdict, 1, MSG_NOSIGNAL | MSG_DONTWAIT) == 1;
}

int tcp_wire_await(struct tcp_wire *w, enum tcp_verdict *verdict, struct fault *why)
{
    unsigned char byte;
    ssize_t n = recv(w->fd, &byte, 1, MSG_DONTWAIT);

    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
        return 0;
    if (n < 0)
        return fault_os(why, ML_ERR_LINK, errno, "the handshake was cut off");
    if (n == 0)
        return fault_set(why, ML_ERR_LINK, "it closed the connection during the handshake");
    if (byte != TCP_VERDICT_TAKEN && byte != TCP_VERDICT_REFUSED)
        return fault_set(why, ML_ERR_LINK, "its answer to the handshake is damaged");
    *verdict = (enum tcp_verdict)byte;
    return 0;
}

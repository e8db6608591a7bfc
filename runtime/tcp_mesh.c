/* SPDX-License-Identifier: MIT */
#include "runtime/tcp_mesh.h"

#include "common/auth.h"
#include "common/clock.h"
#include "coordinator/protocol.h"
#include "runtime/bell.h"
#include "runtime/fork_guard.h"
#include "runtime/news.h"
#include "runtime/tcp_link.h"
#include "runtime/world.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    BACKLOG = 1024,      /* all lower ranks may come at once */
    STRANGERS = 64,      /* connections that have proved nothing, beyond one a peer */
    STRANGER_MS = 10000, /* for the handshake of an accepted connection */
    POLLS_FIXED = 3,     /* listener, coordinator, bell */
};

/*
 * connecting:  CONNECTING ──▶ SHAKING ──proved both ways──▶ a link, and the slot is free
 * accepting:                  SHAKING ──proved, expected──▶ a link
 *                                └──anything else──▶ dropped; a stranger may not disturb
 */
enum wire_state { WIRE_FREE, WIRE_CONNECTING, WIRE_SHAKING };

struct wire {
    enum wire_state state;
    int fd;
    int peer; /* rank in the group; -1: accepted, not known yet */
    struct auth *auth;
    struct frame_reader *reader;
    const unsigned char *out; /* what auth_output gave and the socket hasn't taken yet */
    size_t out_size;
    bool is_proved;      /* the peer has; a last output may be left */
    int64_t deadline_ms; /* accepted ones */
};

struct tcp_mesh {
    struct group *group;
    bool *needed; /* per rank: still to be linked */
    int missing;
    int listener;
    char where[ADDRESS_TEXT];
    struct wire *wires;
    int wire_count;
    struct pollfd *polls;
};

static void wire_drop(struct wire *w)
{
    fork_guard_close(w->fd);
    auth_destroy(w->auth);
    frame_reader_destroy(w->reader);
    *w = (struct wire){.fd = -1, .peer = -1};
}

static int mesh_listen(struct tcp_mesh *m, struct fault *why)
{
    const struct world *w = m->group->world;
    const char *ip = w->job.bind_ip[0] ? w->job.bind_ip : "127.0.0.1";
    int port = w->job.starting_port ? w->job.starting_port + 1 + w->rank : 0;
    struct address bound;
    int rc = address_listen(ip, (uint16_t)port, BACKLOG, &m->listener, &bound, why);

    /* Another thread may be splitting another group just now. */
    if (rc && port && m->group->id != COORD_WORLD)
        rc = address_listen(ip, 0, BACKLOG, &m->listener, &bound, why);
    if (rc)
        return fault_wrap(why, "rank %d on host %s cannot listen", w->rank, w->job.host);
    fork_guard_add(m->listener);
    address_format(&bound, m->where);
    return 0;
}

int tcp_mesh_open(struct tcp_mesh **out, struct group *g, const bool *needed,
                  char where[ADDRESS_TEXT], struct fault *why)
{
    struct tcp_mesh *m = calloc(1, sizeof(*m));
    bool is_awaited = false;
    int rc;

    if (!m)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    m->group = g;
    m->listener = -1;
    m->wire_count = g->size + STRANGERS;
    m->needed = calloc((size_t)g->size, sizeof(*m->needed));
    m->wires = calloc((size_t)m->wire_count, sizeof(*m->wires));
    m->polls = calloc((size_t)m->wire_count + POLLS_FIXED, sizeof(*m->polls));
    if (!m->needed || !m->wires || !m->polls) {
        rc = fault_set(why, ML_ERR_MEMORY, "out of memory");
        goto fail;
    }
    for (int i = 0; i < m->wire_count; i++)
        m->wires[i] = (struct wire){.fd = -1, .peer = -1};
    for (int i = 0; i < g->size; i++) {
        m->needed[i] = needed[i];
        m->missing += needed[i];
        is_awaited |= i < g->rank && needed[i];
    }
    if (is_awaited) {
        rc = mesh_listen(m, why);
        if (rc)
            goto fail;
    }
    strcpy(where, m->where);
    *out = m;
    return 0;
fail:
    tcp_mesh_close(m);
    return rc;
}

void tcp_mesh_close(struct tcp_mesh *m)
{
    if (!m)
        return;
    for (int i = 0; i < m->wire_count && m->wires; i++)
        wire_drop(&m->wires[i]);
    fork_guard_close(m->listener);
    free(m->polls);
    free(m->wires);
    free(m->needed);
    free(m);
}

static struct wire *mesh_free_wire(struct tcp_mesh *m)
{
    for (int i = 0; i < m->wire_count; i++)
        if (m->wires[i].state == WIRE_FREE)
            return &m->wires[i];
    return NULL;
}

/* Every failure of a wire to a known peer ends here: it is named, with what it was doing. */
static int mesh_wrap(const struct tcp_mesh *m, int peer, struct fault *why)
{
    char who[GROUP_MEMBER_TEXT];

    return fault_wrap(why, "rank %d on host %s cannot connect to %s",
                      m->group->members[m->group->rank], m->group->world->job.host,
                      group_describe(m->group, peer, who));
}

int tcp_mesh_found(struct tcp_mesh *m, int rank, const char *where, struct fault *why)
{
    const struct group *g = m->group;
    const struct world *world = g->world;
    struct auth_identity me = {
        .purpose = "mesh", .rank = world->rank, .generation = world->generation, .group = g->id};
    struct wire *w;
    struct address to;
    int rc;

    if (!m->needed[rank] || rank < g->rank)
        return 0;
    w = mesh_free_wire(m); /* there is one for each peer, and nothing has been accepted yet */
    w->peer = rank;
    rc = address_parse(&to, where, why);
    if (!rc)
        rc = address_connect_start(&to, &w->fd, why);
    if (!rc) {
        fork_guard_add(w->fd);
        rc = auth_create_connector(&w->auth, world->job.job, world->secret, &me, why);
    }
    if (!rc)
        rc = frame_reader_create(&w->reader, FRAME_LIMIT_SMALL, why);
    if (rc)
        return mesh_wrap(m, rank, why);
    w->out = auth_output(w->auth, &w->out_size);
    w->state = WIRE_CONNECTING;
    return 0;
}

/* A free wire, or that of the stranger who has proved nothing for longest. */
static struct wire *mesh_wire_to_accept(struct tcp_mesh *m)
{
    struct wire *w = mesh_free_wire(m);

    for (int i = 0; i < m->wire_count && (!w || w->state != WIRE_FREE); i++)
        if (m->wires[i].peer < 0 && (!w || m->wires[i].deadline_ms < w->deadline_ms))
            w = &m->wires[i];
    if (w->state != WIRE_FREE)
        wire_drop(w);
    return w;
}

static void mesh_accept(struct tcp_mesh *m)
{
    const struct world *world = m->group->world;
    int fd;

    while ((fd = address_accept(m->listener)) >= 0) {
        struct wire *w = mesh_wire_to_accept(m);

        fork_guard_add(fd);
        w->fd = fd;
        if (auth_create_acceptor(&w->auth, world->job.job, world->secret, NULL) ||
            frame_reader_create(&w->reader, FRAME_LIMIT_SMALL, NULL)) {
            wire_drop(w);
            continue;
        }
        w->state = WIRE_SHAKING;
        w->deadline_ms = clock_ms() + STRANGER_MS;
    }
}

static int wire_finish_connect(struct wire *w, struct fault *why)
{
    int err = 0;
    socklen_t size = sizeof(err);

    if (getsockopt(w->fd, SOL_SOCKET, SO_ERROR, &err, &size) != 0)
        err = errno;
    if (err)
        return fault_os(why, ML_ERR_LINK, err, "connect");
    w->state = WIRE_SHAKING;
    return 0;
}

static int wire_write(struct wire *w, struct fault *why)
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

/* Reads no further than the handshake: what follows on the stream are the peer's first messages,
 * but it sends none before all members are connected. */
static int wire_read(struct wire *w, struct fault *why)
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
    }
    if (rc < 0) {
        wire_write(w, NULL); /* tells the peer why, if it is still there */
        return rc;
    }
    return wire_write(w, why);
}

/* Which member an accepted wire belongs to: its rank in the group, or -1: nobody who is awaited. */
static int mesh_whose(const struct tcp_mesh *m, const struct wire *w)
{
    const struct auth_identity *id = auth_peer(w->auth);
    const struct group *g = m->group;

    if (strcmp(id->purpose, "mesh") != 0 || id->generation != g->world->generation ||
        id->group != g->id)
        return -1;
    for (int i = 0; i < g->rank; i++)
        if (g->members[i] == id->rank)
            return m->needed[i] ? i : -1;
    return -1;
}

static int mesh_link(struct tcp_mesh *m, struct wire *w, struct fault *why)
{
    int peer = w->peer >= 0 ? w->peer : mesh_whose(m, w), rc = 0;

    if (peer >= 0) {
        fork_guard_forget(w->fd);
        rc = tcp_link_open(&m->group->links[peer], m->group, peer, w->fd, why);
        w->fd = -1;
        m->needed[peer] = false;
        m->missing--;
    }
    wire_drop(w);
    return rc;
}

/* Fails for wires to a known peer only. */
static int mesh_step(struct tcp_mesh *m, struct wire *w, short revents, struct fault *why)
{
    struct fault mine = {0};
    int rc = 0;

    if (w->state == WIRE_FREE)
        return 0;
    if (w->state == WIRE_CONNECTING && revents)
        rc = wire_finish_connect(w, &mine);
    if (!rc && w->state == WIRE_SHAKING && revents)
        rc = wire_write(w, &mine);
    if (!rc && w->state == WIRE_SHAKING && (revents & (POLLIN | POLLHUP | POLLERR)))
        rc = wire_read(w, &mine);
    if (!rc && w->is_proved && w->out_size == 0)
        return mesh_link(m, w, why);
    if (!rc && w->peer < 0 && clock_ms() > w->deadline_ms)
        rc = ML_ERR_TIMEOUT;
    if (!rc)
        return 0;
    if (w->peer < 0) {
        wire_drop(w);
        return 0;
    }
    *why = mine;
    return mesh_wrap(m, w->peer, why);
}

static int mesh_check_news(struct tcp_mesh *m, struct fault *why)
{
    struct group *g = m->group;
    struct news *n = g->world->news;
    int rc;

    news_read(n, g);
    rc = news_broken(n, g, why);
    for (int i = 0; i < g->size && !rc; i++)
        if (m->needed[i] && news_peer(n, g->members[i], why) != PEER_PRESENT)
            rc = ML_ERR_PEER;
    return rc;
}

static int mesh_timed_out(const struct tcp_mesh *m, struct fault *why)
{
    const struct group *g = m->group;
    char who[GROUP_MEMBER_TEXT], others[32] = "";
    int peer = 0;

    while (!m->needed[peer])
        peer++;
    group_describe(g, peer, who);
    if (m->missing > 1)
        snprintf(others, sizeof(others), " and %d others", m->missing - 1);
    if (peer < g->rank)
        return fault_set(why, ML_ERR_TIMEOUT,
                         "%s%s did not connect to rank %d on host %s at %s in time; is a firewall "
                         "between them? (--starting-port)",
                         who, others, g->members[g->rank], g->world->job.host, m->where);
    return fault_set(why, ML_ERR_TIMEOUT,
                     "rank %d on host %s could not connect to %s%s in time; is a firewall between "
                     "them? (--starting-port)",
                     g->members[g->rank], g->world->job.host, who, others);
}

static int mesh_poll(struct tcp_mesh *m, int64_t deadline_ms, struct fault *why)
{
    struct pollfd *p = m->polls;
    int rc;

    p[0] = (struct pollfd){.fd = m->listener, .events = POLLIN};
    p[1] = (struct pollfd){.fd = news_fd(m->group->world->news), .events = POLLIN};
    p[2] = (struct pollfd){.fd = m->group->bell, .events = POLLIN};
    for (int i = 0; i < m->wire_count; i++) {
        const struct wire *w = &m->wires[i];
        bool wants_out = w->state == WIRE_CONNECTING || w->out_size;

        p[POLLS_FIXED + i] =
            (struct pollfd){.fd = w->fd, .events = (short)(POLLIN | (wants_out ? POLLOUT : 0))};
    }
    rc = poll(p, (nfds_t)m->wire_count + POLLS_FIXED, clock_left_ms(deadline_ms));
    if (rc < 0 && errno != EINTR)
        return fault_os(why, ML_ERR_SYSTEM, errno, "poll");
    if (rc == 0)
        return mesh_timed_out(m, why);
    for (int i = 0; i < m->wire_count + POLLS_FIXED && rc < 0; i++)
        p[i].revents = 0;
    return 0;
}

int tcp_mesh_run(struct tcp_mesh *m, int64_t deadline_ms, struct fault *why)
{
    while (m->missing) {
        int rc = mesh_poll(m, deadline_ms, why);

        if (rc)
            return rc;
        if (m->polls[2].revents)
            bell_silence(m->group->bell);
        if (m->polls[1].revents || m->polls[2].revents) {
            rc = mesh_check_news(m, why);
            if (rc)
                return rc;
        }
        for (int i = 0; i < m->wire_count; i++) {
            rc = mesh_step(m, &m->wires[i], m->polls[POLLS_FIXED + i].revents, why);
            if (rc)
                return rc;
        }
        if (m->polls[0].revents)
            mesh_accept(m);
    }
    return 0;
}

/* SPDX-License-Identifier: MIT */
#include "runtime/transport/tcp_mesh.h"

#include "common/clock.h"
#include "coordinator/protocol.h"
#include "runtime/group/bell.h"
#include "runtime/group/coord_events.h"
#include "runtime/group/wait_note.h"
#include "runtime/group/world.h"
#include "runtime/process/fork_guard.h"
#include "runtime/transport/tcp_link.h"
#include "runtime/transport/tcp_seal.h"
#include "runtime/transport/tcp_wire.h"

#include <errno.h>
#include <poll.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum {
    BACKLOG = 1024,         /* all lower ranks may connect at once */
    STRANGERS = 64,         /* accepted connections without a proof yet, besides one a peer */
    COORD_EVENTS_MS = 1000, /* for the coordinator to report that a peer has ended */
    POLLS_FIXED = 3,        /* listener, coordinator, bell */
};

struct tcp_mesh {
    struct group *group;
    bool *needed; /* per rank: still to be linked */
    int missing;
    int listener;
    char where[ADDRESS_TEXT];
    struct tcp_wire *wires;
    int wire_count;
    struct pollfd *polls;
    struct wait_noted noted;
};

static int tcp_mesh_listen(struct tcp_mesh *m, struct fault *why)
{
    const struct world *w = m->group->world;
    const char *ip = w->job.bind_ip[0] ? w->job.bind_ip : "127.0.0.1";
    int port = w->job.starting_port ? w->job.starting_port + 1 + w->rank : 0;
    struct address bound;
    int rc = address_listen(ip, (uint16_t)port, BACKLOG, &m->listener, &bound, why);

    /* Another thread may be splitting another group at this moment. */
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
        m->wires[i] = (struct tcp_wire){.fd = -1, .peer = -1};
    for (int i = 0; i < g->size; i++) {
        m->needed[i] = needed[i];
        m->missing += needed[i];
        is_awaited |= i < g->rank && needed[i];
    }
    if (is_awaited) {
        rc = tcp_mesh_listen(m, why);
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
    wait_noted_end(&m->noted, m->group);
    for (int i = 0; i < m->wire_count && m->wires; i++)
        tcp_wire_drop(&m->wires[i]);
    fork_guard_close(m->listener);
    free(m->polls);
    free(m->wires);
    free(m->needed);
    free(m);
}

static struct tcp_wire *tcp_mesh_free_wire(struct tcp_mesh *m)
{
    for (int i = 0; i < m->wire_count; i++)
        if (m->wires[i].state == TCP_WIRE_FREE)
            return &m->wires[i];
    return NULL;
}

/* Every failure of a wire to a known peer ends here: it is named, with what it was doing. */
static int tcp_mesh_wrap(const struct tcp_mesh *m, int peer, struct fault *why)
{
    char who[GROUP_MEMBER_TEXT];

    return fault_wrap(why, "rank %d on host %s cannot connect to %s",
                      m->group->members[m->group->rank], m->group->world->job.host,
                      group_describe(m->group, peer, who));
}

int tcp_mesh_found(struct tcp_mesh *m, int rank, const char *where, struct fault *why)
{
    struct tcp_wire *w;
    int rc;

    if (!m->needed[rank] || rank < m->group->rank)
        return 0;
    w = tcp_mesh_free_wire(m); /* there is one for each peer, and nothing has been accepted yet */
    w->peer = rank;
    rc = address_parse(&w->to, where, why);
    if (!rc)
        rc = tcp_wire_connect(w, m->group, why);
    return rc ? tcp_mesh_wrap(m, rank, why) : 0;
}

/* The peer may have dropped the connection because too many strangers connect to it: tries
 * again. */
static int tcp_mesh_connect_again(struct tcp_mesh *m, struct tcp_wire *w, struct fault *why)
{
    struct address to = w->to;
    int peer = w->peer, rc;

    tcp_wire_drop(w);
    w->to = to;
    w->peer = peer;
    rc = tcp_wire_connect(w, m->group, why);
    return rc ? tcp_mesh_wrap(m, peer, why) : 0;
}

static bool tcp_mesh_drops_before(const struct tcp_wire *a, const struct tcp_wire *b)
{
    return a->has_spoken != b->has_spoken ? b->has_spoken : a->deadline_ms < b->deadline_ms;
}

/* A free wire, or that of the stranger that has been silent for longest, which is dropped. */
static struct tcp_wire *tcp_mesh_wire_to_accept(struct tcp_mesh *m)
{
    struct tcp_wire *w = tcp_mesh_free_wire(m);

    if (w)
        return w;
    for (int i = 0; i < m->wire_count; i++)
        if (m->wires[i].peer < 0 && (!w || tcp_mesh_drops_before(&m->wires[i], w)))
            w = &m->wires[i];
    tcp_wire_drop(w);
    return w;
}

static int tcp_mesh_accept(struct tcp_mesh *m, struct fault *why)
{
    const struct world *world = m->group->world;
    int fd = -1;

    /* Not all that are waiting: known peers should not wait for a flood of strangers. */
    for (int i = 0; i < STRANGERS && (fd = address_accept(m->listener)) >= 0; i++) {
        struct tcp_wire *w = tcp_mesh_wire_to_accept(m);

        if (tcp_wire_accept(w, m->group, fd, NULL) != 0)
            tcp_wire_drop(w);
    }
    if (fd >= 0 || !address_is_exhausted(errno))
        return 0;
    return fault_os(why, ML_ERR_SYSTEM, errno,
                    "rank %d on host %s cannot accept a connection at %s", world->rank,
                    world->job.host, m->where);
}

/* Which member an accepted wire belongs to: its rank in the group; -1: not one that is expected. */
static int tcp_mesh_whose(const struct tcp_mesh *m, const struct tcp_wire *w)
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

/* With --secure, what the two ranks send from now on; else *out stays NULL. */
static int tcp_mesh_seal(struct tcp_seal **out, const struct tcp_mesh *m, const struct tcp_wire *w,
                         struct fault *why)
{
    struct auth_keys keys;
    int rc;

    if (!m->group->world->job.secure)
        return 0;
    auth_derive_keys(w->auth, &keys);
    rc = tcp_seal_create(out, &keys, why);
    sodium_memzero(&keys, sizeof(keys));
    return rc;
}

static int tcp_mesh_link(struct tcp_mesh *m, struct tcp_wire *w, struct fault *why)
{
    int peer = w->peer >= 0 ? w->peer : tcp_mesh_whose(m, w), rc = 0;
    struct tcp_seal *seal = NULL;

    if (peer >= 0)
        rc = tcp_mesh_seal(&seal, m, w, why);
    if (peer >= 0 && !rc) {
        fork_guard_forget(w->fd);
        rc = tcp_link_open(&m->group->links[peer], m->group, peer, w->fd, seal, why);
        w->fd = -1;
        m->needed[peer] = false;
        m->missing--;
    }
    tcp_wire_drop(w);
    return rc;
}

static int tcp_mesh_check_news(struct tcp_mesh *m, struct fault *why)
{
    struct group *g = m->group;
    struct coord_events *n = g->world->coord_events;
    int rc;

    coord_events_read(n, g);
    rc = coord_events_broken(n, g, why);
    for (int i = 0; i < g->size && !rc; i++)
        if (m->needed[i] && coord_events_peer(n, g->members[i], why) != PEER_PRESENT)
            rc = ML_ERR_PEER;
    return rc;
}

/* The wire to a known peer failed with `mine`. If that is because the peer has ended, the
 * coordinator will say so in a moment. */
static int tcp_mesh_failed(struct tcp_mesh *m, const struct tcp_wire *w, const struct fault *mine,
                           struct fault *why)
{
    int64_t deadline_ms = clock_ms() + COORD_EVENTS_MS;
    int left;

    do {
        struct pollfd p[2] = {
            {.fd = coord_events_fd(m->group->world->coord_events), .events = POLLIN},
            {.fd = m->group->waiting.bell, .events = POLLIN}};
        int rc = tcp_mesh_check_news(m, why);

        if (rc)
            return rc;
        left = clock_left_ms(deadline_ms);
        if (poll(p, 2, left) > 0 && p[1].revents)
            bell_silence(m->group->waiting.bell);
    } while (left > 0);
    *why = *mine;
    return tcp_mesh_wrap(m, w->peer, why);
}

/* Fails only for wires to a known peer. */
static int tcp_mesh_step(struct tcp_mesh *m, struct tcp_wire *w, short revents, struct fault *why)
{
    struct fault mine = {0};
    int rc;

    if (w->state == TCP_WIRE_FREE)
        return 0;
    rc = tcp_wire_step(w, revents, &mine);
    if (!rc && w->is_proved && w->out_size == 0)
        return tcp_mesh_link(m, w, why);
    if (!rc && w->peer < 0 && clock_ms() > w->deadline_ms)
        rc = ML_ERR_TIMEOUT;
    if (!rc)
        return 0;
    if (w->peer >= 0 && w->state == TCP_WIRE_SHAKING && rc == ML_ERR_LINK)
        return tcp_mesh_connect_again(m, w, why);
    if (w->peer >= 0)
        return tcp_mesh_failed(m, w, &mine, why);
    tcp_wire_drop(w);
    return 0;
}

static int tcp_mesh_timed_out(const struct tcp_mesh *m, struct fault *why)
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

static int tcp_mesh_poll(struct tcp_mesh *m, int64_t deadline_ms, struct fault *why)
{
    struct pollfd *p = m->polls;
    int rc, count = POLLS_FIXED;

    p[0] = (struct pollfd){.fd = m->listener, .events = POLLIN};
    p[1] = (struct pollfd){.fd = coord_events_fd(m->group->world->coord_events), .events = POLLIN};
    p[2] = (struct pollfd){.fd = m->group->waiting.bell, .events = POLLIN};
    for (int i = 0; i < m->wire_count; i++) {
        const struct tcp_wire *w = &m->wires[i];
        bool wants_out = w->state == TCP_WIRE_CONNECTING || w->out_size;

        p[POLLS_FIXED + i] =
            (struct pollfd){.fd = w->fd, .events = (short)(POLLIN | (wants_out ? POLLOUT : 0))};
        if (w->fd >= 0) /* poll() takes no more entries than the process may have descriptors */
            count = POLLS_FIXED + i + 1;
    }
    rc = poll(p, (nfds_t)count, clock_left_ms(wait_noted_deadline(&m->noted, deadline_ms)));
    if (rc < 0 && errno != EINTR)
        return fault_os(why, ML_ERR_SYSTEM, errno, "poll");
    if (clock_left_ms(deadline_ms) == 0)
        return tcp_mesh_timed_out(m, why);
    wait_noted_look(&m->noted, m->group);
    for (int i = 0; i < count && rc < 0; i++)
        p[i].revents = 0;
    return 0;
}

int tcp_mesh_run(struct tcp_mesh *m, int64_t deadline_ms, struct fault *why)
{
    while (m->missing) {
        /* Before the first poll, too: what came together with the answer to the exchange has been
         * read from the socket already. */
        int rc = tcp_mesh_check_news(m, why);

        if (!rc)
            rc = tcp_mesh_poll(m, deadline_ms, why);
        if (rc)
            return rc;
        if (m->polls[2].revents)
            bell_silence(m->group->waiting.bell);
        for (int i = 0; i < m->wire_count; i++) {
            rc = tcp_mesh_step(m, &m->wires[i], m->polls[POLLS_FIXED + i].revents, why);
            if (rc)
                return rc;
        }
        rc = m->polls[0].revents ? tcp_mesh_accept(m, why) : 0;
        if (rc)
            return rc;
    }
    return 0;
}

/* SPDX-License-Identifier: MIT */
#include "launcher/tools/copier/sync_chain.h"

#include "common/clock.h"
#include "launcher/base/tree/sync_wire.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BACKLOG = 128 };

int sync_chain_open(struct sync_chain *chain, const struct sync_order *order,
                    char address[ADDRESS_TEXT], struct fault *why)
{
    struct address bound;
    int rc;

    *chain = (struct sync_chain){.listener = -1, .previous = -1, .next = -1, .early = -1};
    strangers_init(&chain->strangers, STRANGERS_SYNC);
    if (!address_is_here(order->ip))
        return fault_set(why, ML_ERR_ARGUMENT, "%s is not one of its addresses", order->ip);
    rc = address_listen(order->ip, 0, BACKLOG, &chain->listener, &bound, why);
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
static void early_keep(struct sync_chain *chain, int fd, const struct auth_identity *peer)
{
    socket_close(&chain->early);
    chain->early = fd;
    chain->early_peer = *peer;
}

static void early_take(struct sync_chain *chain, const struct sync_place *place)
{
    if (chain->early < 0 || chain->early_peer.generation > place->round)
        return;
    if (!place->is_fed && chain->early_peer.generation == place->round &&
        chain->early_peer.rank == place->previous)
        chain->previous = chain->early;
    else
        close(chain->early);
    chain->early = -1;
}

static void guest_drop(struct sync_chain *chain, struct sync_guest *g)
{
    strangers_remove(&chain->strangers, &g->stranger);
    sync_guest_drop(g);
}

/* A free place for a guest from there, which another one may have to leave. NULL: it is refused. */
static struct sync_guest *guest_place(struct sync_chain *chain, const struct address *from)
{
    struct sync_guest *g = chain->guests;
    struct stranger *out;

    if (!strangers_room(&chain->strangers, from, &out))
        return NULL;
    if (out)
        guest_drop(chain, (struct sync_guest *)out);
    while (g->state != SYNC_GUEST_FREE)
        g++;
    return g;
}

static void guest_add(struct sync_chain *chain, int fd, const struct sync_order *order)
{
    struct address from = {.length = sizeof(from.storage)};
    struct sync_guest *g;

    getpeername(fd, (struct sockaddr *)&from.storage, &from.length);
    g = guest_place(chain, &from);
    if (!g)
        close(fd);
    else if (sync_guest_accept(g, fd, order, NULL) == 0 &&
             strangers_add(&chain->strangers, &g->stranger, &from, NULL) != 0)
        sync_guest_drop(g);
}

static void guests_accept(struct sync_chain *chain, const struct sync_order *order)
{
    struct stranger *out;
    int fd = -1;

    /* Not all that are waiting: those that have been accepted should not wait for a flood. */
    for (int i = 0; i < STRANGERS_AT_ONCE && (fd = address_accept(chain->listener)) >= 0; i++)
        guest_add(chain, fd, order);
    out = fd < 0 && address_is_exhausted(errno) ? strangers_first_out(&chain->strangers) : NULL;
    if (out)
        guest_drop(chain, (struct sync_guest *)out);
}

/* Strangers are turned away, and so is a host whose connection belongs to an older round. */
static void guest_admit(struct sync_chain *chain, struct sync_guest *g,
                        const struct sync_place *place)
{
    struct auth_identity peer = *auth_peer(g->auth);
    int fd;

    strangers_remove(&chain->strangers, &g->stranger);
    fd = sync_guest_take(g);

    if (strcmp(peer.purpose, SYNC_PURPOSE) == 0 && peer.generation > place->round)
        early_keep(chain, fd, &peer);
    else if (strcmp(peer.purpose, SYNC_PURPOSE) == 0 && peer.generation == place->round &&
             peer.rank == place->previous && !place->is_fed && chain->previous < 0)
        chain->previous = fd;
    else
        close(fd);
}

static void guest_step(struct sync_chain *chain, struct sync_guest *g, bool is_ready,
                       const struct sync_place *place)
{
    if (g->state == SYNC_GUEST_FREE)
        return;
    if ((is_ready && sync_guest_step(g, NULL)) || clock_ms() >= g->deadline_ms)
        guest_drop(chain, g);
    else if (g->state == SYNC_GUEST_PROVED)
        guest_admit(chain, g, place);
    else if (g->has_spoken && !g->stranger.has_begun)
        strangers_begin(&g->stranger);
}

static int next_connect(struct sync_chain *chain, const struct sync_place *place,
                        const struct sync_order *order, struct fault *why)
{
    struct address to;
    int rc = address_parse(&to, place->address, why);

    return rc ? rc : sync_guest_connect(&chain->host, &to, order, place->round, why);
}

/* The next host may drop a connection when many strangers connect to it: then another is made, as
 * long as there is time. */
static int next_step(struct sync_chain *chain, bool is_ready, const struct sync_place *place,
                     const struct sync_order *order, struct fault *why)
{
    int64_t deadline_ms = chain->host.deadline_ms;
    int rc = is_ready ? sync_guest_step(&chain->host, why) : 0;

    if (!rc && chain->host.state == SYNC_GUEST_PROVED) {
        chain->next = sync_guest_take(&chain->host);
        return 0;
    }
    if (clock_ms() >= deadline_ms)
        return fault_set(why, ML_ERR_TIMEOUT, "cannot connect to %s: no answer in time",
                         place->address);
    if (rc == ML_ERR_LINK) {
        sync_guest_drop(&chain->host);
        rc = next_connect(chain, place, order, why);
        chain->host.deadline_ms = deadline_ms;
    }
    return rc;
}

/* Waits for what comes first: a guest, an answer, an order. */
static int chain_step(struct sync_chain *chain, struct sync_control *c,
                      const struct sync_place *place, const struct sync_order *order,
                      struct fault *why)
{
    struct pollfd polls[3 + STRANGERS_SYNC] = {
        [1] = {.fd = chain->listener, .events = POLLIN},
        [2] = {.fd = chain->host.state == SYNC_GUEST_FREE ? -1 : chain->host.fd,
               .events = sync_guest_events(&chain->host)}};
    int64_t deadline_ms = chain->host.state == SYNC_GUEST_FREE ? -1 : chain->host.deadline_ms;

    for (int i = 0; i < STRANGERS_SYNC; i++) {
        const struct sync_guest *g = &chain->guests[i];
        bool is_there = g->state != SYNC_GUEST_FREE;

        polls[3 + i] = (struct pollfd){.fd = is_there ? g->fd : -1, .events = sync_guest_events(g)};
        if (is_there && (deadline_ms < 0 || g->deadline_ms < deadline_ms))
            deadline_ms = g->deadline_ms;
    }
    sync_control_poll(c, polls, 3 + STRANGERS_SYNC, deadline_ms);
    if (c->has_moved)
        return 1;
    for (int i = 0; i < STRANGERS_SYNC; i++)
        guest_step(chain, &chain->guests[i], polls[3 + i].revents != 0, place);
    if (polls[1].revents)
        guests_accept(chain, order);
    return chain->host.state == SYNC_GUEST_FREE
               ? 0
               : next_step(chain, polls[2].revents != 0, place, order, why);
}

/* --- RDMA ------------------------------------------------------------------------------------- */

static void rdma_drop(struct sync_rdma **r)
{
    sync_rdma_close(*r);
    *r = NULL;
}

/* Waits for `fd` (-1: none), an order, deadline_ms, or news of RDMA, which are handled. is_full:
 * the caller waits until there is room to send. 0, also if the time is over; or a failure. */
static int chain_wait(struct sync_chain *chain, struct sync_control *c, int fd, short events,
                      bool is_full, int64_t deadline_ms, struct fault *why)
{
    struct pollfd polls[2 + 2 * SYNC_RDMA_POLLS] = {[1] = {.fd = fd, .events = events}};
    struct sync_rdma *ways[] = {chain->to, chain->from};
    bool may_sleep = true;
    int rc = 0;

    for (int i = 0; i < 2; i++) {
        struct pollfd *own = polls + 2 + i * SYNC_RDMA_POLLS;

        for (int k = 0; k < SYNC_RDMA_POLLS; k++)
            own[k].fd = -1;
        if (ways[i])
            may_sleep &= sync_rdma_arm(ways[i], is_full && i == 0, own, &deadline_ms);
    }
    sync_control_poll(c, polls, 2 + 2 * SYNC_RDMA_POLLS, may_sleep ? deadline_ms : 0);
    for (int i = 0; i < 2 && !rc && !c->has_moved; i++) {
        chain->is_next = i == 0;
        if (ways[i])
            rc = sync_rdma_handle(ways[i], polls + 2 + i * SYNC_RDMA_POLLS, why);
    }
    return rc;
}

static int rdma_begin(struct sync_chain *chain, const struct sync_place *place,
                      const struct sync_order *order, struct fault *why)
{
    struct sync_rdma_config c = {.order = order, .round = place->round};
    int rc = 0;

    if (chain->previous >= 0 && place->from.count > 0) {
        c.rails = &place->from;
        c.peer = place->previous;
        c.is_receiver = true;
        chain->is_next = false;
        rc = sync_rdma_open(&chain->from, &c, chain->previous, why);
    }
    if (!rc && chain->next >= 0 && place->to.count > 0) {
        c.rails = &place->to;
        c.peer = place->next;
        c.is_receiver = false;
        chain->is_next = true;
        rc = sync_rdma_open(&chain->to, &c, chain->next, why);
    }
    return rc;
}

static bool is_agreeing(const struct sync_rdma *r)
{
    return r && sync_rdma_state(r) == SYNC_RDMA_AGREEING;
}

/* Agrees with both neighbours, at the same time, whether the stream goes over RDMA. */
static int rdma_make(struct sync_chain *chain, struct sync_control *c,
                     const struct sync_place *place, const struct sync_order *order,
                     struct fault *why)
{
    int rc = rdma_begin(chain, place, order, why);

    while (!rc && (is_agreeing(chain->from) || is_agreeing(chain->to))) {
        rc = chain_wait(chain, c, -1, 0, false, -1, why);
        if (c->has_moved)
            return 1;
    }
    if (!rc && chain->from && sync_rdma_state(chain->from) == SYNC_RDMA_REFUSED) {
        fault_set(&chain->over_tcp, ML_ERR_LINK, "%s", sync_rdma_reason(chain->from));
        rdma_drop(&chain->from);
    }
    if (!rc && chain->to && sync_rdma_state(chain->to) == SYNC_RDMA_REFUSED)
        rdma_drop(&chain->to);
    return rc;
}

/* --- the stream ------------------------------------------------------------------------------- */

int sync_chain_make(struct sync_chain *chain, struct sync_control *c,
                    const struct sync_order *order, struct fault *why)
{
    struct sync_place place = c->place;
    int rc = 0;

    c->has_moved = false;
    rdma_drop(&chain->from);
    rdma_drop(&chain->to);
    chain->over_tcp.code = 0;
    socket_close(&chain->previous);
    socket_close(&chain->next);
    early_take(chain, &place);
    chain->is_next = true;
    if (place.next >= 0)
        rc = next_connect(chain, &place, order, why);
    while (!rc && ((chain->previous < 0 && !place.is_fed) || (chain->next < 0 && place.next >= 0)))
        rc = chain_step(chain, c, &place, order, why);
    sync_guest_drop(&chain->host);
    return rc ? rc : rdma_make(chain, c, &place, order, why);
}

/* Reads what there is; *count 0: nothing. */
static int bytes_read(struct sync_chain *chain, struct sync_control *c, void *bytes, size_t size,
                      size_t *count, struct fault *why)
{
    ssize_t n;

    *count = 0;
    chain->is_next = false;
    if (c->place.is_fed)
        *count = sync_control_take(c, bytes, size);
    else if (chain->from)
        *count = sync_rdma_read(chain->from, bytes, size);
    if (c->place.is_fed || chain->from)
        return 0;
    n = recv(chain->previous, bytes, size, 0);
    if (n < 0 && errno != EAGAIN && errno != EINTR)
        return fault_os(why, ML_ERR_PEER, errno, "the connection broke");
    if (n == 0)
        return fault_set(why, ML_ERR_PEER, "the connection was closed");
    *count = n > 0 ? (size_t)n : 0;
    return 0;
}

int sync_chain_read(struct sync_chain *chain, struct sync_control *c, void *bytes, size_t size,
                    int64_t deadline_ms, size_t *count, struct fault *why)
{
    int rc = 0;

    *count = 0;
    while (!rc && !c->has_moved) {
        int fd = c->place.is_fed || chain->from ? -1 : chain->previous;

        rc = bytes_read(chain, c, bytes, size, count, why);
        if (rc || *count > 0 || (deadline_ms >= 0 && clock_ms() >= deadline_ms))
            return rc;
        rc = chain_wait(chain, c, fd, POLLIN, false, deadline_ms, why);
    }
    return rc;
}

/* Sends what there is room for; 0: nothing now. */
static ssize_t bytes_write(struct sync_chain *chain, const void *bytes, size_t size,
                           struct fault *why)
{
    ssize_t n;

    if (chain->to)
        return (ssize_t)sync_rdma_write(chain->to, bytes, size);
    n = send(chain->next, bytes, size, MSG_NOSIGNAL);
    if (n < 0 && errno != EAGAIN && errno != EINTR)
        return fault_os(why, ML_ERR_PEER, errno, "the connection broke");
    return n > 0 ? n : 0;
}

int sync_chain_write(struct sync_chain *chain, struct sync_control *c, const void *bytes,
                     size_t size, struct fault *why)
{
    const char *from = bytes;
    int rc;

    while (size > 0 && chain->next >= 0) {
        ssize_t n = bytes_write(chain, from, size, why);

        chain->is_next = true;
        if (n < 0)
            return (int)n;
        from += n;
        size -= (size_t)n;
        if (n > 0)
            continue;
        rc = chain_wait(chain, c, chain->to ? -1 : chain->next, POLLOUT, true, -1, why);
        if (rc)
            return rc;
        if (c->has_moved)
            return 1;
    }
    return 0;
}

int sync_chain_idle(struct sync_chain *chain, struct sync_control *c, struct fault *why)
{
    int rc = 0;

    while (!rc && !c->has_moved)
        rc = chain_wait(chain, c, -1, 0, false, -1, why);
    return rc;
}

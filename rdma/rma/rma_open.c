/* SPDX-License-Identifier: MIT */
#include "rdma/rma/rma.h"

#include "rdma/rma/rma_helper.h"
#include "rdma/rma/rma_state.h"
#include "rdma/verbs/rail_match.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

/* --- bring-up --------------------------------------------------------------------------------- */

int rma_open(struct rma **out, const struct rma_config *c, struct fault *why)
{
    struct rma *r = calloc(1, sizeof(*r));
    pthread_condattr_t monotonic;
    int rc;

    if (!r)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    r->config = *c;
    pthread_mutex_init(&r->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&r->moved, &monotonic);
    pthread_cond_init(&r->needed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    r->epoll = epoll_create1(EPOLL_CLOEXEC);
    r->peers = calloc((size_t)c->peers + 1, sizeof(*r->peers));
    rc = r->epoll < 0 ? fault_os(why, ML_ERR_SYSTEM, errno, "cannot watch RDMA devices") : 0;
    if (!rc && !r->peers)
        rc = fault_set(why, ML_ERR_MEMORY, "out of memory");
    if (!rc)
        rc = bounce_pool_create(&r->bounce, why);
    if (rc) {
        rma_close(r);
        return rc;
    }
    for (int i = 0; i < c->peers; i++)
        rma_qps_init(&r->peers[i].qps);
    *out = r;
    return 0;
}

void rma_close(struct rma *r)
{
    if (!r)
        return;
    rma_helper_end(r);
    for (int i = 0; i < r->config.peers && r->peers; i++)
        rma_qps_close(&r->peers[i].qps);
    while (r->ports) {
        struct rma_port *port = r->ports;

        r->ports = port->next;
        rma_port_close(port);
    }
    bounce_pool_destroy(&r->bounce);
    free(r->peers);
    if (r->epoll >= 0)
        close(r->epoll);
    pthread_cond_destroy(&r->needed);
    pthread_cond_destroy(&r->moved);
    pthread_mutex_destroy(&r->lock);
    free(r);
}

static int rma_port_watch(const struct rma *r, int fd)
{
    struct epoll_event event = {.events = EPOLLIN, .data = {.fd = fd}};

    return epoll_ctl(r->epoll, EPOLL_CTL_ADD, fd, &event);
}

/* The port of that name, opened if it is the first time. */
static int rma_port_find(struct rma *r, const char *name, struct rma_port **out, struct fault *why)
{
    struct rma_part part = {r->config.memory, r->config.size, r->config.gpu};
    struct rma_port *port = r->ports;
    int rc;

    while (port && strcmp(port->name, name) != 0)
        port = port->next;
    *out = port;
    if (port)
        return 0;
    rc = rma_port_open(&port, name, &r->config.choice, &part, &r->bounce, why);
    if (rc)
        return rc;
    if (rma_port_watch(r, port->channel->fd) || rma_port_watch(r, port->port->context->async_fd)) {
        rc = fault_os(why, ML_ERR_SYSTEM, errno, "cannot watch the RDMA device %s", name);
        rma_port_close(port);
        return rc;
    }
    port->next = r->ports;
    *out = r->ports = port;
    return 0;
}

static bool rma_qp_add(struct rma *r, struct rma_peer *p, const char *device, struct fault *why)
{
    struct rma_qps *q = &p->qps;
    struct rma_port *port = NULL;

    if (rma_port_find(r, device, &port, why) ||
        rma_qp_open(&q->all[q->count], port, &r->config.choice, p->name, why))
        return false;
    rma_qp_publish(q->all[q->count], &p->published[q->count]);
    return q->all[q->count++]->pair.kind == QUEUE_PAIR_RC;
}

bool rma_add(struct rma *r, int peer, const struct rma_peer_config *c, struct fault *why)
{
    struct rma_peer *p = &r->peers[peer];
    bool good = r->config.choice.qp != QUEUE_PAIR_UC;

    p->rank = c->rank;
    snprintf(p->name, sizeof(p->name), "%s", c->name);
    for (int i = 0; i < c->device_count && i < RDMA_RAILS && good; i++)
        good = rma_qp_add(r, p, c->devices[i], why);
    if (!good)
        rma_qps_close(&p->qps);
    return good;
}

const void *rma_publish(const struct rma *r, int peer, size_t *size)
{
    const struct rma_peer *p = &r->peers[peer];

    *size = (size_t)p->qps.count * sizeof(p->published[0]);
    return p->published;
}

int rma_connect(struct rma *r, int peer, const void *from_peer, size_t size, struct fault *why)
{
    struct rma_peer *p = &r->peers[peer];
    struct rma_qps *q = &p->qps;
    struct rail_end ends[RDMA_RAILS];
    struct rma_qp *mine[RDMA_RAILS];
    bool is_low = r->config.rank <= p->rank;
    int match[RDMA_RAILS], rc = 0;

    if (!size || !q->count) {
        rma_qps_close(q);
        return 0;
    }
    if (size != (size_t)q->count * sizeof(ends[0]))
        return fault_set(why, ML_ERR_LINK,
                         "the hostfile's wiring has %d devices from here to %s, but %zu the other "
                         "way",
                         q->count, p->name, size / sizeof(ends[0]));
    memcpy(ends, from_peer, size);
    if (!rail_match_is_valid(ends, q->count))
        return fault_set(why, ML_ERR_REFUSED,
                         "the description that %s sent of its devices is damaged", p->name);
    memcpy(mine, q->all, sizeof(mine));
    rail_match(is_low ? p->published : ends, is_low ? ends : p->published, q->count, match);
    for (int i = 0; i < q->count && !rc; i++) {
        int here = is_low ? i : match[i], there = is_low ? match[i] : i;

        rc = rma_qp_connect(mine[here], &ends[there], is_low, why);
    }
    p->is_within = !rc;
    return rc;
}

/* The port over which all peers reach this rank, if there is one. */
static struct rma_port *rma_only_port(const struct rma *r, int self)
{
    struct rma_port *port = NULL;

    for (int i = 0; i < r->config.peers; i++) {
        const struct rma_peer *p = &r->peers[i];

        if (i == self)
            continue;
        if (!p->is_within || p->qps.count != 1 || (port && p->qps.all[0]->port != port))
            return NULL;
        port = p->qps.all[0]->port;
    }
    return port;
}

bool rma_own(struct rma *r, int self)
{
    const struct rma_port *port = rma_only_port(r, self);
    const char *const devices[] = {port ? port->name : NULL};
    const struct rma_peer_config c = {
        .rank = r->config.rank, .name = "itself", .devices = devices, .device_count = 1};
    const struct rail_end *own = r->peers[self].published;
    struct fault why;

    if (!port || !port->has_atomics || !rma_add(r, self, &c, &why))
        return false;
    if (!rma_connect(r, self, own, sizeof(*own), &why))
        return true;
    rma_remove(r, self);
    return false;
}

bool rma_has(const struct rma *r, int peer)
{
    return r->peers[peer].is_within;
}

enum region_way rma_part_way(const struct rma *r, int peer)
{
    const struct rma_qps *q = &r->peers[peer].qps;
    enum region_way way = REGION_HOST;

    for (int i = 0; i < q->count; i++)
        if (q->all[i]->port->part_way > way)
            way = q->all[i]->port->part_way;
    return way;
}

void rma_remove(struct rma *r, int peer)
{
    r->peers[peer].is_within = false;
    rma_qps_close(&r->peers[peer].qps);
}

int rma_descriptors(const struct rma *r, int *out, int most)
{
    int count = 0;

    if (most > 0)
        out[count++] = r->epoll;
    for (const struct rma_port *port = r->ports; port && count + 3 <= most; port = port->next) {
        out[count++] = port->channel->fd;
        out[count++] = port->port->context->async_fd;
        out[count++] = port->port->context->cmd_fd;
    }
    return count;
}

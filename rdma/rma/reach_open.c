/* SPDX-License-Identifier: MIT */
#include "rdma/rma/reach.h"

#include "rdma/rma/reach_helper.h"
#include "rdma/rma/reach_state.h"
#include "rdma/verbs/rail_match.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

/* --- bring-up --------------------------------------------------------------------------------- */

int reach_open(struct reach **out, const struct reach_config *c, struct fault *why)
{
    struct reach *r = calloc(1, sizeof(*r));
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
        rc = copies_create(&r->copies, why);
    if (rc) {
        reach_close(r);
        return rc;
    }
    for (int i = 0; i < c->peers; i++)
        tracks_init(&r->peers[i].tracks);
    *out = r;
    return 0;
}

void reach_close(struct reach *r)
{
    if (!r)
        return;
    reach_helper_end(r);
    for (int i = 0; i < r->config.peers && r->peers; i++)
        tracks_close(&r->peers[i].tracks);
    while (r->gates) {
        struct gate *g = r->gates;

        r->gates = g->next;
        gate_close(g);
    }
    copies_destroy(&r->copies);
    free(r->peers);
    if (r->epoll >= 0)
        close(r->epoll);
    pthread_cond_destroy(&r->needed);
    pthread_cond_destroy(&r->moved);
    pthread_mutex_destroy(&r->lock);
    free(r);
}

static int gate_watch(const struct reach *r, int fd)
{
    struct epoll_event event = {.events = EPOLLIN, .data = {.fd = fd}};

    return epoll_ctl(r->epoll, EPOLL_CTL_ADD, fd, &event);
}

/* The gate of that name, opened if it is the first time. */
static int gate_find(struct reach *r, const char *name, struct gate **out, struct fault *why)
{
    struct gate_part part = {r->config.memory, r->config.size};
    struct gate *g = r->gates;
    int rc;

    while (g && strcmp(g->name, name) != 0)
        g = g->next;
    *out = g;
    if (g)
        return 0;
    rc = gate_open(&g, name, &r->config.choice, &part, &r->copies, why);
    if (rc)
        return rc;
    if (gate_watch(r, g->channel->fd) || gate_watch(r, g->port->context->async_fd)) {
        rc = fault_os(why, ML_ERR_SYSTEM, errno, "cannot watch the RDMA device %s", name);
        gate_close(g);
        return rc;
    }
    g->next = r->gates;
    *out = r->gates = g;
    return 0;
}

static bool track_add(struct reach *r, struct reach_peer *p, const char *device, struct fault *why)
{
    enum queue_pair_kind kind = (enum queue_pair_kind)r->config.choice.qp;
    struct tracks *l = &p->tracks;
    struct gate *g = NULL;

    if (gate_find(r, device, &g, why) || track_open(&l->all[l->count], g, kind, p->name, why))
        return false;
    track_publish(l->all[l->count], r->config.choice.gid_index, &p->published[l->count]);
    return l->all[l->count++]->pair.kind == QUEUE_PAIR_RC;
}

bool reach_add(struct reach *r, int peer, const struct reach_peer_config *c, struct fault *why)
{
    struct reach_peer *p = &r->peers[peer];
    bool good = r->config.choice.qp != QUEUE_PAIR_UC;

    p->rank = c->rank;
    snprintf(p->name, sizeof(p->name), "%s", c->name);
    for (int i = 0; i < c->device_count && i < RDMA_RAILS && good; i++)
        good = track_add(r, p, c->devices[i], why);
    if (!good)
        tracks_close(&p->tracks);
    return good;
}

const void *reach_publish(const struct reach *r, int peer, size_t *size)
{
    const struct reach_peer *p = &r->peers[peer];

    *size = (size_t)p->tracks.count * sizeof(p->published[0]);
    return p->published;
}

int reach_connect(struct reach *r, int peer, const void *from_peer, size_t size, struct fault *why)
{
    struct reach_peer *p = &r->peers[peer];
    struct tracks *l = &p->tracks;
    struct rail_end ends[RDMA_RAILS];
    struct track *mine[RDMA_RAILS];
    bool is_low = r->config.rank <= p->rank;
    int match[RDMA_RAILS], rc = 0;

    if (!size || !l->count) {
        tracks_close(l);
        return 0;
    }
    if (size != (size_t)l->count * sizeof(ends[0]))
        return fault_set(why, ML_ERR_LINK,
                         "the hostfile's wiring has %d devices from here to %s, but %zu the other "
                         "way",
                         l->count, p->name, size / sizeof(ends[0]));
    memcpy(ends, from_peer, size);
    if (!rail_match_is_valid(ends, l->count))
        return fault_set(why, ML_ERR_REFUSED,
                         "the description that %s sent of its devices is damaged", p->name);
    memcpy(mine, l->all, sizeof(mine));
    rail_match(is_low ? p->published : ends, is_low ? ends : p->published, l->count, match);
    for (int i = 0; i < l->count && !rc; i++) {
        int here = is_low ? i : match[i], there = is_low ? match[i] : i;

        rc = track_connect(mine[here], &ends[there], r->config.choice.gid_index, is_low, why);
    }
    p->is_within = !rc;
    return rc;
}

/* The gate over which all peers reach this rank, if there is one. */
static struct gate *reach_only_gate(const struct reach *r, int self)
{
    struct gate *g = NULL;

    for (int i = 0; i < r->config.peers; i++) {
        const struct reach_peer *p = &r->peers[i];

        if (i == self)
            continue;
        if (!p->is_within || p->tracks.count != 1 || (g && p->tracks.all[0]->gate != g))
            return NULL;
        g = p->tracks.all[0]->gate;
    }
    return g;
}

bool reach_own(struct reach *r, int self)
{
    const struct gate *g = reach_only_gate(r, self);
    const char *const devices[] = {g ? g->name : NULL};
    const struct reach_peer_config c = {
        .rank = r->config.rank, .name = "itself", .devices = devices, .device_count = 1};
    const struct rail_end *own = r->peers[self].published;
    struct fault why;

    if (!g || !g->has_atomics || !reach_add(r, self, &c, &why))
        return false;
    if (!reach_connect(r, self, own, sizeof(*own), &why))
        return true;
    reach_remove(r, self);
    return false;
}

bool reach_has(const struct reach *r, int peer)
{
    return r->peers[peer].is_within;
}

void reach_remove(struct reach *r, int peer)
{
    r->peers[peer].is_within = false;
    tracks_close(&r->peers[peer].tracks);
}

int reach_descriptors(const struct reach *r, int *out, int most)
{
    int count = 0;

    if (most > 0)
        out[count++] = r->epoll;
    for (const struct gate *g = r->gates; g && count + 3 <= most; g = g->next) {
        out[count++] = g->channel->fd;
        out[count++] = g->port->context->async_fd;
        out[count++] = g->port->context->cmd_fd;
    }
    return count;
}

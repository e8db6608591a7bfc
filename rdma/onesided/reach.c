/* SPDX-License-Identifier: MIT */
#include "rdma/onesided/reach.h"

#include "common/clock.h"
#include "rdma/onesided/tracks.h"
#include "rdma/pairing/rail_match.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

enum {
    NAME = 320,
    SPIN_NS = 1000 * 1000, /* arming, sleeping and waking up take some system calls */
    SLEEP_MS = 20,         /* at most, between two questions whether the window is broken */
    EVENTS = 8,
    MS_NS = 1000 * 1000,
};

struct reach_peer {
    struct tracks tracks;
    struct rail_end published[RDMA_RAILS];
    char name[NAME];
    int rank;
    bool is_within; /* connected */
};

struct reach {
    struct reach_config config;
    struct copies copies;
    struct gate *gates;
    struct reach_peer *peers;
    int epoll;
    /* For all of the above but the configuration, once threads use it. */
    pthread_mutex_t lock;
    pthread_cond_t moved; /* something has, or the watcher has come back */
    bool is_watched;      /* a thread sleeps for all of them */
};

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
    *out = r;
    return 0;
}

void reach_close(struct reach *r)
{
    if (!r)
        return;
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

bool reach_has(const struct reach *r, int peer)
{
    return r->peers[peer].is_within;
}

void reach_remove(struct reach *r, int peer)
{
    r->peers[peer].is_within = false;
    tracks_close(&r->peers[peer].tracks);
}

/* --- waiting ---------------------------------------------------------------------------------- */

static int reach_poll(struct reach *r)
{
    int moved = 0;

    for (int i = 0; i < r->config.peers; i++)
        if (r->peers[i].is_within)
            moved += tracks_poll(&r->peers[i].tracks, &r->copies);
    if (moved && r->is_watched)
        pthread_cond_broadcast(&r->moved); /* it may have been for one of those that wait */
    return moved;
}

static void gate_disarm(const struct gate *g)
{
    struct ibv_cq *cq;
    void *track;

    while (ibv_get_cq_event(g->channel, &cq, &track) == 0)
        ((struct track *)track)->events++;
}

static void reach_handle(struct reach *r, int fd)
{
    for (struct gate *g = r->gates; g; g = g->next) {
        if (fd == g->channel->fd)
            gate_disarm(g);
        else if (fd == g->port->context->async_fd)
            gate_poll_device(g);
    }
}

/* Requests an event for the next completion of each track that has something under way. Returns how
 * long to sleep at most. */
static int reach_arm(const struct reach *r)
{
    int64_t until_ms = clock_ms() + SLEEP_MS;

    for (int i = 0; i < r->config.peers; i++) {
        const struct tracks *l = &r->peers[i].tracks;
        int64_t next_ms = tracks_next_ms(l);

        for (int k = 0; k < l->count; k++)
            if (l->all[k]->under_way)
                ibv_req_notify_cq(l->all[k]->completions, 0);
        if (next_ms < until_ms)
            until_ms = next_ms;
    }
    return clock_left_ms(until_ms);
}

/* One thread waits for the devices; the others wait until it comes back. */
static void reach_sleep(struct reach *r)
{
    struct epoll_event events[EVENTS];
    int count, timeout_ms;

    if (r->is_watched) {
        struct timespec until;

        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_nsec += (long)SLEEP_MS * MS_NS;
        until.tv_sec += until.tv_nsec / (1000L * MS_NS);
        until.tv_nsec %= 1000L * MS_NS;
        pthread_cond_timedwait(&r->moved, &r->lock, &until);
        return;
    }
    /* Arm first, then look: what is done in between is either seen here or raises an event. */
    timeout_ms = reach_arm(r);
    if (reach_poll(r) > 0)
        return;
    r->is_watched = true;
    pthread_mutex_unlock(&r->lock);
    count = epoll_wait(r->epoll, events, EVENTS, timeout_ms);
    pthread_mutex_lock(&r->lock);
    r->is_watched = false;
    for (int i = 0; i < count; i++)
        reach_handle(r, events[i].data.fd);
    pthread_cond_broadcast(&r->moved);
}

/* Fails everything if the window is broken: what a device may still do to memory of the caller must
 * be over when the call returns. */
static void reach_check(struct reach *r)
{
    struct fault why = {0};

    if (!r->config.check(r->config.arg, &why))
        return;
    for (int i = 0; i < r->config.peers; i++)
        if (r->peers[i].is_within)
            tracks_fail(&r->peers[i].tracks, &why);
}

/* Called with the lock when nothing has moved; *since_ns: when something last did. */
static void reach_wait(struct reach *r, int64_t *since_ns)
{
    int64_t now_ns = clock_ns();

    if (!*since_ns)
        *since_ns = now_ns;
    if (now_ns - *since_ns < SPIN_NS) {
        pthread_mutex_unlock(&r->lock);
        sched_yield();
        pthread_mutex_lock(&r->lock);
        return;
    }
    reach_check(r);
    reach_sleep(r);
}

/* --- work ------------------------------------------------------------------------------------- */

static int reach_refuse(const struct reach_peer *p, struct fault *why)
{
    return fault_set(why, p->tracks.failed.code, "%s", p->tracks.failed.text);
}

static int reach_do(struct reach *r, int peer, struct work *w, struct fault *why)
{
    struct reach_peer *p = &r->peers[peer];
    struct tracks *l = &p->tracks;
    int64_t since_ns = 0;
    int rc = 0;

    pthread_mutex_lock(&r->lock);
    tracks_begin(l, w);
    for (;;) {
        int moved = tracks_post(l, w, &r->copies);

        if (tracks_are_done(l, w))
            break;
        moved += reach_poll(r);
        if (moved)
            since_ns = 0;
        else
            reach_wait(r, &since_ns);
    }
    if (w->code || w->posted < w->size)
        rc = reach_refuse(p, why);
    pthread_mutex_unlock(&r->lock);
    return rc;
}

int reach_put(struct reach *r, int peer, const void *from, size_t size, uint64_t offset,
              struct fault *why)
{
    struct work w = {.local = (unsigned char *)(uintptr_t)from, .size = size, .offset = offset};

    return reach_do(r, peer, &w, why);
}

int reach_get(struct reach *r, int peer, void *into, size_t size, uint64_t offset,
              struct fault *why)
{
    struct work w = {.is_get = true, .local = into, .size = size, .offset = offset};

    return reach_do(r, peer, &w, why);
}

int reach_flush(struct reach *r, int peer, struct fault *why)
{
    struct reach_peer *p = &r->peers[peer];
    int64_t since_ns = 0;
    int rc = 0;

    pthread_mutex_lock(&r->lock);
    while (!tracks_are_idle(&p->tracks)) {
        if (reach_poll(r) > 0)
            since_ns = 0;
        else
            reach_wait(r, &since_ns);
    }
    if (p->tracks.failed.code)
        rc = reach_refuse(p, why);
    pthread_mutex_unlock(&r->lock);
    return rc;
}

bool reach_dropped(struct reach *r, struct fault *out, int *left)
{
    const struct fault *dropped = NULL;

    pthread_mutex_lock(&r->lock);
    for (int i = 0; i < r->config.peers && !dropped; i++)
        dropped = tracks_dropped(&r->peers[i].tracks, left);
    if (dropped)
        *out = *dropped;
    pthread_mutex_unlock(&r->lock);
    return dropped != NULL;
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

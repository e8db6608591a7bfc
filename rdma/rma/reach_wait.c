/* SPDX-License-Identifier: MIT */
#include "rdma/rma/reach_wait.h"

#include "common/clock.h"
#include "rdma/rma/reach_state.h"

#include <sched.h>
#include <sys/epoll.h>

enum {
    SPIN_NS = 1000 * 1000, /* arming, sleeping and waking up take some system calls */
    SLEEP_MS = 20,         /* at most, between two questions whether the window is broken */
    EVENTS = 8,
    MS_NS = 1000 * 1000,
};

/* Reports started work that is done. What has failed is left to the helper. */
static void reach_report(struct reach *r, struct tracks *l)
{
    struct work *w;

    while ((w = tracks_take_ended(l))) {
        if (work_has_succeeded(w)) {
            r->started--;
            w->on_done(w, NULL);
            continue;
        }
        w->next = r->failed;
        r->failed = w;
        pthread_cond_signal(&r->needed);
    }
}

int reach_move(struct reach *r)
{
    int moved = 0;

    for (int i = 0; i < r->config.peers; i++) {
        struct tracks *l = &r->peers[i].tracks;

        if (!r->peers[i].is_within)
            continue;
        moved += tracks_poll(l, &r->copies);
        moved += tracks_post_queue(l, &r->copies);
        reach_report(r, l);
    }
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

int reach_arm(const struct reach *r)
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

static void reach_await_watcher(struct reach *r)
{
    const struct timespec until = clock_after((int64_t)SLEEP_MS * MS_NS);

    pthread_cond_timedwait(&r->moved, &r->lock, &until);
}

static void reach_watch(struct reach *r, int timeout_ms)
{
    struct epoll_event events[EVENTS];
    int count;

    r->is_watched = true;
    pthread_mutex_unlock(&r->lock);
    count = epoll_wait(r->epoll, events, EVENTS, timeout_ms);
    pthread_mutex_lock(&r->lock);
    r->is_watched = false;
    for (int i = 0; i < count; i++)
        reach_handle(r, events[i].data.fd);
    pthread_cond_broadcast(&r->moved);
}

void reach_fail(struct reach *r, const struct fault *why)
{
    for (int i = 0; i < r->config.peers; i++)
        if (r->peers[i].is_within)
            tracks_fail(&r->peers[i].tracks, why);
}

/* What a device may still do to memory of the caller must be over when a call on a broken window
 * returns. */
static void reach_check(struct reach *r)
{
    struct fault why = {0};

    if (r->config.check(r->config.arg, &why))
        reach_fail(r, &why);
}

void reach_sleep(struct reach *r)
{
    int timeout_ms;

    reach_check(r);
    /* Arm first, then look: what is done in between is either seen here or raises an event. */
    timeout_ms = reach_arm(r);
    if (reach_move(r) > 0)
        return;
    if (r->is_watched)
        reach_await_watcher(r);
    else
        reach_watch(r, timeout_ms);
}

void reach_wait(struct reach *r, int64_t *since_ns)
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
    reach_sleep(r);
}

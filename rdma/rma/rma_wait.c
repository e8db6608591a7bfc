/* SPDX-License-Identifier: MIT */
#include "rdma/rma/rma_wait.h"

#include "common/clock.h"
#include "rdma/rma/rma_state.h"

#include <sched.h>
#include <sys/epoll.h>

enum {
    SPIN_NS = 1000 * 1000, /* arming, sleeping and waking up take some system calls */
    SLEEP_MS = 20,         /* at most, between two questions whether the window is broken */
    EVENTS = 8,
    MS_NS = 1000 * 1000,
};

/* Reports started work that is done. What has failed is left to the helper. */
static void rma_report(struct rma *r, struct rma_qps *q)
{
    struct rma_op *op;

    while ((op = rma_qps_take_ended(q))) {
        if (rma_op_has_succeeded(op)) {
            r->started--;
            op->on_done(op, NULL);
            continue;
        }
        op->next = r->failed;
        r->failed = op;
        pthread_cond_signal(&r->needed);
    }
}

int rma_move(struct rma *r)
{
    int moved = 0;

    for (int i = 0; i < r->config.peers; i++) {
        struct rma_qps *q = &r->peers[i].qps;

        if (!r->peers[i].is_within)
            continue;
        moved += rma_qps_poll(q, &r->bounce);
        moved += rma_qps_post_queue(q, &r->bounce);
        rma_report(r, q);
    }
    if (moved && r->is_watched)
        pthread_cond_broadcast(&r->moved); /* it may have been for one of those that wait */
    return moved;
}

static void rma_port_disarm(const struct rma_port *port)
{
    struct ibv_cq *cq;
    void *qp;

    while (ibv_get_cq_event(port->channel, &cq, &qp) == 0)
        ((struct rma_qp *)qp)->events++;
}

static void rma_handle(struct rma *r, int fd)
{
    for (struct rma_port *port = r->ports; port; port = port->next) {
        if (fd == port->channel->fd)
            rma_port_disarm(port);
        else if (fd == port->port->context->async_fd)
            port_poll(port->port, NULL, &port->failed);
    }
}

int rma_arm(const struct rma *r)
{
    int64_t until_ms = clock_ms() + SLEEP_MS;

    for (int i = 0; i < r->config.peers; i++) {
        const struct rma_qps *q = &r->peers[i].qps;
        int64_t next_ms = rma_qps_next_ms(q);

        for (int k = 0; k < q->count; k++)
            if (q->all[k]->under_way)
                ibv_req_notify_cq(q->all[k]->completions, 0);
        if (next_ms < until_ms)
            until_ms = next_ms;
    }
    return clock_left_ms(until_ms);
}

static void rma_await_watcher(struct rma *r)
{
    const struct timespec until = clock_after((int64_t)SLEEP_MS * MS_NS);

    pthread_cond_timedwait(&r->moved, &r->lock, &until);
}

static void rma_watch(struct rma *r, int timeout_ms)
{
    struct epoll_event events[EVENTS];
    int count;

    r->is_watched = true;
    pthread_mutex_unlock(&r->lock);
    count = epoll_wait(r->epoll, events, EVENTS, timeout_ms);
    pthread_mutex_lock(&r->lock);
    r->is_watched = false;
    for (int i = 0; i < count; i++)
        rma_handle(r, events[i].data.fd);
    pthread_cond_broadcast(&r->moved);
}

void rma_fail(struct rma *r, const struct fault *why)
{
    for (int i = 0; i < r->config.peers; i++)
        if (r->peers[i].is_within)
            rma_qps_fail(&r->peers[i].qps, why);
}

/* What a device may still do to memory of the caller must be over when a call on a broken window
 * returns. */
static void rma_check(struct rma *r)
{
    struct fault why = {0};

    if (r->config.check(r->config.arg, &why))
        rma_fail(r, &why);
}

void rma_sleep(struct rma *r)
{
    int timeout_ms;

    rma_check(r);
    /* Arm first, then look: what is done in between is either seen here or raises an event. */
    timeout_ms = rma_arm(r);
    if (rma_move(r) > 0)
        return;
    if (r->is_watched)
        rma_await_watcher(r);
    else
        rma_watch(r, timeout_ms);
}

void rma_wait(struct rma *r, int64_t *since_ns)
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
    rma_sleep(r);
}

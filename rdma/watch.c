/* SPDX-License-Identifier: MIT */
#include "rdma/watch.h"

#include "common/failure_times.h"

#include <errno.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

enum {
    EVENTS = 2 * RDMA_RAILS + 1,
};

static int watch_add(struct watch *w, int fd)
{
    struct epoll_event event = {.events = EPOLLIN, .data = {.fd = fd}};

    return epoll_ctl(w->epoll, EPOLL_CTL_ADD, fd, &event);
}

int watch_open(struct watch *w, const struct rails *s, struct fault *why)
{
    struct itimerspec every = {{RDMA_TICK_S, 0}, {RDMA_TICK_S, 0}};
    bool good;

    w->epoll = epoll_create1(EPOLL_CLOEXEC);
    w->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    good = w->epoll >= 0 && w->timer >= 0 && timerfd_settime(w->timer, 0, &every, NULL) == 0 &&
           watch_add(w, w->timer) == 0;
    for (int i = 0; i < s->count && good; i++)
        good = watch_add(w, s->all[i]->channel->fd) == 0 &&
               watch_add(w, s->all[i]->fit.port->context->async_fd) == 0;
    return good ? 0 : fault_os(why, ML_ERR_SYSTEM, errno, "cannot watch the links to %s", s->peer);
}

void watch_close(struct watch *w)
{
    if (w->timer >= 0)
        close(w->timer);
    if (w->epoll >= 0)
        close(w->epoll);
    w->timer = w->epoll = -1;
}

/* Handles the event of one descriptor. True: it is the timer. */
static bool watch_handle(struct watch *w, struct rails *s, int fd)
{
    uint64_t expirations;

    if (fd == w->timer)
        return read(fd, &expirations, sizeof(expirations)) > 0;
    for (int i = 0; i < s->count; i++) {
        if (fd == s->all[i]->channel->fd)
            rail_disarm(s->all[i]);
        else if (fd == s->all[i]->fit.port->context->async_fd)
            port_poll(s->all[i]->fit.port, s->all[i]->fit.peer, &s->all[i]->failed);
    }
    return false;
}

bool watch_wake(struct watch *w, struct rails *s)
{
    struct epoll_event events[EVENTS];
    int count = epoll_wait(w->epoll, events, EVENTS, 0);
    bool tick = false;

    for (int i = 0; i < count; i++)
        tick |= watch_handle(w, s, events[i].data.fd);
    if (tick && w->ticks++ % (RDMA_KEEPALIVE_S / RDMA_TICK_S) == 0)
        for (int i = 0; i < s->count; i++)
            rail_keepalive(s->all[i]);
    return tick;
}

int watch_descriptors(const struct watch *w, const struct rails *s, int *out, int most)
{
    int count = 0;

    if (most < 2)
        return 0;
    out[count++] = w->epoll;
    out[count++] = w->timer;
    for (int i = 0; i < s->count && count + 3 <= most; i++) {
        out[count++] = s->all[i]->channel->fd;
        out[count++] = s->all[i]->fit.port->context->async_fd;
        out[count++] = s->all[i]->fit.port->context->cmd_fd;
    }
    return count;
}

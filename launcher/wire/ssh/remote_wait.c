/* SPDX-License-Identifier: MIT */
#include "launcher/wire/ssh/remote_wait.h"

#include "common/clock.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

struct remote_watch {
    int wake, end; /* end: an eventfd, the call has returned */
    int fds[2];
    atomic_int_least64_t deadline_ms;
    atomic_bool cut;
    pthread_t thread;
};

int remote_wait_for(const struct remote_wait *w, int fd, short events, struct fault *why)
{
    struct pollfd p[] = {{.fd = w->wake, .events = POLLIN}, {.fd = fd, .events = events}};

    for (;;) {
        int left = clock_left_ms(w->deadline_ms), n = poll(p, 2, left);

        if (n < 0 && errno != EINTR)
            return fault_os(why, ML_ERR_SYSTEM, errno, "poll");
        if (n < 0)
            continue;
        if (p[0].revents)
            return fault_set(why, ML_ERR_STATE, "closed while connecting");
        if (n > 0)
            return 0;
        if (left == 0)
            return fault_set(why, ML_ERR_TIMEOUT, "time-out");
    }
}

static void *watch_run(void *arg)
{
    struct remote_watch *w = arg;
    struct remote_wait wait = {.wake = w->wake};
    int rc;

    do {
        wait.deadline_ms = atomic_load(&w->deadline_ms);
        rc = remote_wait_for(&wait, w->end, POLLIN, NULL);
    } while (rc == ML_ERR_TIMEOUT && atomic_load(&w->deadline_ms) > clock_ms());
    if (rc) {
        atomic_store(&w->cut, true);
        for (int i = 0; i < 2; i++)
            if (w->fds[i] >= 0)
                shutdown(w->fds[i], SHUT_RDWR);
    }
    return NULL;
}

int remote_watch_begin(struct remote_watch **out, const struct remote_wait *w, int fd, int other_fd,
                       struct fault *why)
{
    struct remote_watch *watch = calloc(1, sizeof(*watch));
    int err;

    if (!watch)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    watch->wake = w->wake;
    watch->fds[0] = fd;
    watch->fds[1] = other_fd;
    atomic_init(&watch->deadline_ms, w->deadline_ms);
    atomic_init(&watch->cut, false);
    watch->end = eventfd(0, EFD_CLOEXEC);
    err = watch->end < 0 ? errno : pthread_create(&watch->thread, NULL, watch_run, watch);
    if (err) {
        if (watch->end >= 0)
            close(watch->end);
        free(watch);
        return fault_os(why, ML_ERR_SYSTEM, err, "cannot start a thread");
    }
    *out = watch;
    return 0;
}

void remote_watch_extend(struct remote_watch *watch, int64_t deadline_ms)
{
    atomic_store(&watch->deadline_ms, deadline_ms);
}

bool remote_watch_end(struct remote_watch *watch)
{
    bool cut;

    if (!watch)
        return false;
    eventfd_write(watch->end, 1);
    pthread_join(watch->thread, NULL);
    cut = atomic_load(&watch->cut);
    close(watch->end);
    free(watch);
    return cut;
}

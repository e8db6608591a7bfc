/* SPDX-License-Identifier: MIT */
#include "launcher/wire/ssh/reach/remote_wait.h"

#include "common/clock.h"
#include "launcher/base/process/pidfd_linux.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    LOOK_MS = 50,
    GRACE_MS = 1000, /* between SIGTERM and SIGKILL */
};

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

/* Without pidfds (before Linux 5.3) the child is looked at now and then. `end`: its pidfd, or
 * -1. */
static int child_wait(const struct remote_wait *w, pid_t pid, int end, int *status,
                      struct fault *why)
{
    for (;;) {
        struct remote_wait step = *w;
        int rc;

        if (end < 0 && clock_left_ms(w->deadline_ms) > LOOK_MS)
            step.deadline_ms = clock_ms() + LOOK_MS;
        rc = remote_wait_for(&step, end, POLLIN, why);
        if (rc != ML_ERR_STATE && waitpid(pid, status, WNOHANG) == pid)
            return 0;
        if (rc && (rc != ML_ERR_TIMEOUT || step.deadline_ms == w->deadline_ms))
            return rc;
    }
}

int remote_wait_group(const struct remote_wait *w, pid_t pid, int *status, struct fault *why)
{
    struct remote_wait grace = {.wake = -1};
    int end = pidfd_linux_open(pid), rc = child_wait(w, pid, end, status, why);

    if (rc) {
        kill(-pid, SIGTERM);
        grace.deadline_ms = clock_ms() + GRACE_MS;
        if (child_wait(&grace, pid, end, status, NULL)) {
            kill(-pid, SIGKILL);
            while (waitpid(pid, status, 0) < 0 && errno == EINTR)
                ;
        }
    }
    if (end >= 0)
        close(end);
    return rc;
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

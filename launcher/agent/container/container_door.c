/* SPDX-License-Identifier: MIT */
#include "launcher/agent/container/container_door.h"

#include "common/net/address.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum {
    CALLERS_SPARE = 8,
    ACCEPT_AGAIN_MS = 100, /* after descriptors have run out */
};

/* What a rank's container is to get, and what it has said. */
struct door_rank {
    int fds[ENTRY_DESCRIPTORS]; /* -1: handed over, or never there */
    pid_t process;              /* 0: none has called */
    struct entry_answer answer; /* step 0: none */
};

struct caller {
    struct container_door *door;
    struct event *event;
    int fd;    /* -1: a free place */
    int index; /* -1: not said yet */
};

struct container_door {
    struct event_base *base;
    struct event *event, *again;
    int fd;
    struct door_rank *ranks;
    int rank_count;
    struct caller *callers;
    int caller_count;
};

/* The path may be too long for a socket's address: the directory's descriptor is in its place. */
static int door_listen(const char *job_dir, struct fault *why)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int directory = open(job_dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), err = 0;

    snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/" ENTRY_DOOR, directory);
    if (directory < 0 || fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) ||
        listen(fd, SOMAXCONN))
        err = errno;
    if (directory >= 0)
        close(directory);
    if (!err)
        return fd;
    if (fd >= 0)
        close(fd);
    fault_os(why, ML_ERR_SYSTEM, err, "cannot listen for containers in %s", job_dir);
    return -1;
}

static void caller_drop(struct caller *c)
{
    if (c->event)
        event_free(c->event);
    if (c->fd >= 0)
        close(c->fd);
    c->event = NULL;
    c->fd = c->index = -1;
}

static void fds_drop(struct door_rank *r)
{
    for (int i = 0; i < ENTRY_DESCRIPTORS; i++) {
        if (r->fds[i] >= 0)
            close(r->fds[i]);
        r->fds[i] = -1;
    }
}

/* Gives the rank's descriptors away, once. False: the caller gets none. */
static bool fds_send(struct caller *c, struct door_rank *r)
{
    union {
        char bytes[CMSG_SPACE(sizeof(int) * ENTRY_DESCRIPTORS)];
        struct cmsghdr align;
    } control = {0};
    size_t size = sizeof(int) * (r->fds[ENTRY_STREAMS] < 0 ? ENTRY_STREAMS : ENTRY_DESCRIPTORS);
    struct iovec part = {"", 1};
    struct msghdr m = {.msg_iov = &part,
                       .msg_iovlen = 1,
                       .msg_control = control.bytes,
                       .msg_controllen = CMSG_SPACE(size)};

    struct ucred peer;
    socklen_t peer_size = sizeof(peer);

    if (r->fds[0] < 0)
        return false;
    control.align = (struct cmsghdr){
        .cmsg_len = CMSG_LEN(size), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
    memcpy(CMSG_DATA(&control.align), r->fds, size);
    if (sendmsg(c->fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT) != 1)
        return false;
    fds_drop(r);
    if (getsockopt(c->fd, SOL_SOCKET, SO_PEERCRED, &peer, &peer_size) == 0)
        r->process = peer.pid;
    return true;
}

/* Reads the index, and later the answer. False: the caller has nothing more to say. */
static bool caller_read(struct caller *c)
{
    struct container_door *d = c->door;
    struct entry_answer said;
    uint32_t index;

    if (c->index < 0) {
        if (recv(c->fd, &index, sizeof(index), MSG_DONTWAIT) != sizeof(index) ||
            index >= (uint32_t)d->rank_count)
            return false;
        c->index = (int)index;
        return fds_send(c, &d->ranks[index]);
    }
    if (recv(c->fd, &said, sizeof(said), MSG_DONTWAIT) == sizeof(said)) {
        said.found[sizeof(said.found) - 1] = '\0';
        d->ranks[c->index].answer = said;
    }
    return false;
}

static void on_caller(evutil_socket_t fd, short what, void *arg)
{
    (void)fd, (void)what;
    if (!caller_read(arg))
        caller_drop(arg);
}

static void on_call(evutil_socket_t listener, short what, void *arg)
{
    static const struct timeval pause = {.tv_usec = ACCEPT_AGAIN_MS * 1000};
    struct container_door *d = arg;
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK), i = 0;

    (void)what;
    if (fd < 0 && address_is_exhausted(errno)) {
        /* The listener stays readable, so without a pause the loop would spin. */
        event_del(d->event);
        event_add(d->again, &pause);
    }
    while (i < d->caller_count && d->callers[i].fd >= 0)
        i++;
    if (fd >= 0 && i < d->caller_count) {
        d->callers[i].fd = fd;
        d->callers[i].event =
            event_new(d->base, fd, EV_READ | EV_PERSIST, on_caller, &d->callers[i]);
        if (!d->callers[i].event || event_add(d->callers[i].event, NULL))
            caller_drop(&d->callers[i]);
    } else if (fd >= 0) {
        close(fd);
    }
}

static void on_call_again(evutil_socket_t fd, short what, void *arg)
{
    struct container_door *d = arg;

    (void)fd, (void)what;
    event_add(d->event, NULL);
}

int container_door_open(struct container_door **out, struct event_base *base, const char *job_dir,
                        int rank_count, struct fault *why)
{
    struct container_door *d = calloc(1, sizeof(*d));
    int rc = 0;

    if (!d)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    d->base = base;
    d->fd = -1;
    d->ranks = calloc((size_t)rank_count, sizeof(*d->ranks));
    d->callers = calloc((size_t)rank_count + CALLERS_SPARE, sizeof(*d->callers));
    if (!d->ranks || !d->callers) {
        container_door_close(d);
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    }
    d->rank_count = rank_count;
    d->caller_count = rank_count + CALLERS_SPARE;
    for (int i = 0; i < rank_count; i++)
        for (int k = 0; k < ENTRY_DESCRIPTORS; k++)
            d->ranks[i].fds[k] = -1;
    for (int i = 0; i < d->caller_count; i++)
        d->callers[i] = (struct caller){.door = d, .fd = -1, .index = -1};
    d->fd = door_listen(job_dir, why);
    if (d->fd < 0)
        rc = why->code;
    else
        d->event = event_new(base, d->fd, EV_READ | EV_PERSIST, on_call, d);
    d->again = evtimer_new(base, on_call_again, d);
    if (!rc && (!d->event || !d->again || event_add(d->event, NULL)))
        rc = fault_set(why, ML_ERR_MEMORY, "out of memory");
    if (rc) {
        container_door_close(d);
        return rc;
    }
    *out = d;
    return 0;
}

void container_door_close(struct container_door *d)
{
    if (!d)
        return;
    for (int i = 0; i < d->caller_count; i++)
        caller_drop(&d->callers[i]);
    for (int i = 0; i < d->rank_count; i++)
        fds_drop(&d->ranks[i]);
    if (d->event)
        event_free(d->event);
    if (d->again)
        event_free(d->again);
    if (d->fd >= 0)
        close(d->fd);
    free(d->ranks);
    free(d->callers);
    free(d);
}

int container_door_keep(struct container_door *d, int index, const int streams[ENTRY_STREAMS],
                        int pmi, struct fault *why)
{
    struct door_rank *r = &d->ranks[index];

    for (int i = 0; i < ENTRY_DESCRIPTORS; i++) {
        int fd = i < ENTRY_STREAMS ? streams[i] : pmi;

        if (fd < 0)
            continue;
        r->fds[i] = fcntl(fd, F_DUPFD_CLOEXEC, 0);
        if (r->fds[i] < 0) {
            int err = errno;

            fds_drop(r);
            return fault_os(why, ML_ERR_SYSTEM, err, "cannot keep its streams for its container");
        }
    }
    return 0;
}

void container_door_end(struct container_door *d, int index)
{
    for (int i = 0; i < d->caller_count; i++)
        if (d->callers[i].fd >= 0 && d->callers[i].index == index) {
            caller_read(&d->callers[i]);
            caller_drop(&d->callers[i]);
        }
    fds_drop(&d->ranks[index]);
}

pid_t container_door_process(const struct container_door *d, int index)
{
    return d->ranks[index].process;
}

const struct entry_answer *container_door_answer(const struct container_door *d, int index)
{
    return d->ranks[index].answer.step ? &d->ranks[index].answer : NULL;
}

/* SPDX-License-Identifier: MIT */
#include "runtime/tcp/tcp_door.h"

#include "common/clock.h"
#include "common/net/stranger_limits.h"
#include "common/net/strangers.h"
#include "runtime/group/world.h"
#include "runtime/process/bell.h"
#include "runtime/process/fork_guard.h"
#include "runtime/process/stdio_guard.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    BACKLOG = 4096,   /* all other ranks may connect at once */
    EVENTS_MOST = 32, /* for which one look has room */
};

/* An accepted connection that has not proved yet who it is. */
struct guest {
    struct stranger stranger;
    struct tcp_wire wire;
    struct guest *next;
};

struct tcp_door {
    struct door base; /* its fd is an epoll descriptor */
    const struct world *world;
    int listener;
    char where[ADDRESS_TEXT];
    pthread_mutex_t lock; /* over all of the below */
    struct tcp_entry *entries;
    struct guest *guests;
    struct strangers strangers; /* the same */
};

static struct tcp_door *tcp_door_of(struct door *d)
{
    return (struct tcp_door *)d;
}

static int tcp_door_listen(struct tcp_door *d, struct fault *why)
{
    const struct world *w = d->world;
    const char *ip = w->job.bind_ip[0] ? w->job.bind_ip : "127.0.0.1";
    int port = w->job.starting_port ? w->job.starting_port + 1 + w->rank : 0;
    struct epoll_event event = {.events = EPOLLIN};
    struct address bound;
    int rc = address_listen(ip, (uint16_t)port, BACKLOG, &d->listener, &bound, why);

    if (rc)
        return fault_wrap(why, "rank %d on host %s cannot listen", w->rank, w->job.host);
    fork_guard_add(d->listener);
    address_format(&bound, d->where);
    d->base.fd = epoll_create1(EPOLL_CLOEXEC);
    if (d->base.fd < 0 || epoll_ctl(d->base.fd, EPOLL_CTL_ADD, d->listener, &event) != 0)
        return fault_os(why, ML_ERR_SYSTEM, errno, "rank %d on host %s cannot watch its listener",
                        w->rank, w->job.host);
    fork_guard_add(d->base.fd);
    return 0;
}

const char *tcp_door_where(const struct door *d)
{
    return ((const struct tcp_door *)d)->where;
}

void tcp_door_lock(struct door *d)
{
    pthread_mutex_lock(&tcp_door_of(d)->lock);
}

void tcp_door_unlock(struct door *d)
{
    pthread_mutex_unlock(&tcp_door_of(d)->lock);
}

void tcp_door_add(struct door *d, struct tcp_entry *e)
{
    tcp_door_lock(d);
    e->next = tcp_door_of(d)->entries;
    tcp_door_of(d)->entries = e;
    tcp_door_unlock(d);
}

void tcp_door_remove(struct door *d, struct tcp_entry *e)
{
    struct tcp_entry **at = &tcp_door_of(d)->entries;

    tcp_door_lock(d);
    while (*at && *at != e)
        at = &(*at)->next;
    if (*at)
        *at = e->next;
    tcp_door_unlock(d);
}

/* --- guests ----------------------------------------------------------------------------------- */

static void guest_remove(struct tcp_door *d, struct guest *x)
{
    struct guest **at = &d->guests;

    while (*at != x)
        at = &(*at)->next;
    *at = x->next;
    strangers_remove(&d->strangers, &x->stranger);
    /* Not left to close(): while a child between vfork() and exec() has a copy of the descriptor,
     * the kernel goes on to report a guest that has been freed. */
    if (x->wire.fd >= 0)
        epoll_ctl(d->base.fd, EPOLL_CTL_DEL, x->wire.fd, NULL);
    tcp_wire_drop(&x->wire);
    free(x);
}

/* Makes room for a guest from there. False: it is refused. */
static bool has_room(struct tcp_door *d, const struct address *from)
{
    struct stranger *out;
    bool has;

    d->strangers.most = STRANGERS_RANK + d->world->size; /* which may have grown */
    has = strangers_room(&d->strangers, from, &out);
    if (has && out)
        guest_remove(d, (struct guest *)out);
    return has;
}

static void guest_add(struct tcp_door *d, int fd)
{
    struct epoll_event event = {.events = EPOLLIN};
    struct address from = {.length = sizeof(from.storage)};
    struct guest *x;

    getpeername(fd, (struct sockaddr *)&from.storage, &from.length);
    x = has_room(d, &from) ? calloc(1, sizeof(*x)) : NULL;
    if (!x) {
        close(fd);
        return;
    }
    x->wire = (struct tcp_wire){.fd = -1, .peer = -1};
    x->next = d->guests;
    d->guests = x;
    event.data.ptr = x;
    if (tcp_wire_accept(&x->wire, d->world, fd, NULL) != 0 ||
        strangers_add(&d->strangers, &x->stranger, &from, NULL) != 0 ||
        epoll_ctl(d->base.fd, EPOLL_CTL_ADD, fd, &event) != 0)
        guest_remove(d, x);
}

/* Hands the connection to the group that it is for, if that still is there and wants it. */
static void guest_admit(struct tcp_door *d, struct guest *x, const struct group *looker)
{
    const struct auth_identity *id = auth_peer(x->wire.auth);
    struct tcp_entry *e = d->entries;
    int peer = 0;

    if (strcmp(id->purpose, "mesh") != 0 || id->generation != d->world->generation)
        return;
    while (e && e->group->id != id->group)
        e = e->next;
    while (e && peer < e->group->size && e->group->members[peer] != id->rank)
        peer++;
    if (!e || peer == e->group->size || peer == e->group->rank)
        return;
    epoll_ctl(d->base.fd, EPOLL_CTL_DEL, x->wire.fd, NULL);
    if (e->admit(e, peer, &x->wire) && e->group != looker)
        bell_ring(e->group->waiting.bell);
}

/* The output of an accepting side is shorter than any socket's buffer. */
static void guest_step(struct tcp_door *d, struct guest *x, const struct group *looker)
{
    int rc = tcp_wire_step(&x->wire, POLLIN, NULL);

    if (!rc && x->wire.has_spoken && !x->stranger.has_begun)
        strangers_begin(&x->stranger);
    if (!rc && x->wire.is_proved)
        guest_admit(d, x, looker);
    if (rc || x->wire.is_proved || x->wire.out_size)
        guest_remove(d, x);
}

static void guests_expire(struct tcp_door *d)
{
    int64_t now = d->guests ? clock_ms() : 0;

    for (struct guest *x = d->guests, *next; x; x = next) {
        next = x->next;
        if (now > x->wire.deadline_ms)
            guest_remove(d, x);
    }
}

/* --- the door --------------------------------------------------------------------------------- */

static int tcp_door_accept(struct tcp_door *d, struct fault *why)
{
    int held[STDIO_GUARD], fd = -1, err = 0;

    /* Not all that are waiting: known peers should not wait for a flood of strangers. */
    stdio_guard_begin(held);
    for (int i = 0; i < STRANGERS_AT_ONCE && (fd = address_accept(d->listener)) >= 0; i++)
        guest_add(d, fd);
    if (fd < 0)
        err = errno;
    stdio_guard_end(held);
    if (!err || !address_is_exhausted(err))
        return 0;
    return fault_os(why, ML_ERR_SYSTEM, err,
                    "rank %d on host %s cannot accept a connection at %s (raise `ulimit -n`)",
                    d->world->rank, d->world->job.host, d->where);
}

/* All that has come is looked at before deadlines and the listener are: a guest's time is over also
 * if no thread of this process has been in a call for a while, and a new one may push it out. */
static int tcp_door_look(struct door *door, const struct group *looker, struct fault *why)
{
    struct tcp_door *d = tcp_door_of(door);
    struct epoll_event events[EVENTS_MOST];
    bool knocks = false;
    int n, rc = 0;

    tcp_door_lock(door);
    n = epoll_wait(d->base.fd, events, EVENTS_MOST, 0);
    for (int i = 0; i < n; i++) {
        if (events[i].data.ptr)
            guest_step(d, events[i].data.ptr, looker);
        else
            knocks = true;
    }
    if (n < EVENTS_MOST)
        guests_expire(d);
    if (n < EVENTS_MOST && knocks)
        rc = tcp_door_accept(d, why);
    tcp_door_unlock(door);
    return rc;
}

int tcp_door_open(struct door **out, const struct world *w, struct fault *why)
{
    struct tcp_door *d = calloc(1, sizeof(*d));
    int rc;

    if (!d)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    *d = (struct tcp_door){.base = {-1, tcp_door_look, tcp_door_close}, .world = w, .listener = -1};
    pthread_mutex_init(&d->lock, NULL);
    strangers_init(&d->strangers, STRANGERS_RANK + w->size);
    rc = tcp_door_listen(d, why);
    if (rc) {
        tcp_door_close(&d->base);
        return rc;
    }
    *out = &d->base;
    return 0;
}

void tcp_door_close(struct door *door)
{
    struct tcp_door *d = tcp_door_of(door);

    if (!d)
        return;
    while (d->guests)
        guest_remove(d, d->guests);
    fork_guard_close(d->listener);
    fork_guard_close(d->base.fd);
    pthread_mutex_destroy(&d->lock);
    free(d);
}

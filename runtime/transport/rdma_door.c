/* SPDX-License-Identifier: MIT */
#include "runtime/transport/rdma_door.h"

#include "runtime/group/coord_events.h"
#include "runtime/group/world.h"
#include "runtime/process/bell.h"
#include "runtime/process/fork_guard.h"

#include <errno.h>
#include <jansson.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct rdma_door {
    struct door base; /* its fd is an eventfd, which counts words that no thread has heard yet */
    const struct world *world;
    pthread_mutex_t lock; /* over all of the below */
    struct rdma_entry *entries;
};

static struct rdma_door *rdma_door_of(struct door *d)
{
    return (struct rdma_door *)d;
}

void rdma_door_lock(struct door *d)
{
    pthread_mutex_lock(&rdma_door_of(d)->lock);
}

void rdma_door_unlock(struct door *d)
{
    pthread_mutex_unlock(&rdma_door_of(d)->lock);
}

void rdma_door_add(struct door *d, struct rdma_entry *e)
{
    rdma_door_lock(d);
    e->next = rdma_door_of(d)->entries;
    rdma_door_of(d)->entries = e;
    rdma_door_unlock(d);
}

void rdma_door_remove(struct door *d, struct rdma_entry *e)
{
    struct rdma_entry **at = &rdma_door_of(d)->entries;

    rdma_door_lock(d);
    while (*at && *at != e)
        at = &(*at)->next;
    if (*at)
        *at = e->next;
    rdma_door_unlock(d);
}

/* Hands the word to the group that it is for, if that still is there. */
static void rdma_door_hear(struct rdma_door *d, const struct knock *k, const struct group *looker)
{
    struct rdma_entry *e = d->entries;
    int peer = 0;

    while (e && e->group->id != k->group)
        e = e->next;
    while (e && peer < e->group->size && e->group->members[peer] != k->from)
        peer++;
    if (!e || peer == e->group->size || peer == e->group->rank)
        return;
    if (e->hear(e, peer, k->word) && e->group != looker)
        bell_ring(e->group->waiting.bell);
}

/* No other thread may be ahead with a later word: so they are taken under the lock. */
static int rdma_door_look(struct door *door, const struct group *looker, struct fault *why)
{
    struct rdma_door *d = rdma_door_of(door);
    struct coord_events *n = d->world->coord_events;
    struct knock k;
    uint64_t count;

    (void)why;
    coord_events_read(n, looker);
    rdma_door_lock(door);
    if (read(d->base.fd, &count, sizeof(count)) > 0) {
        while (coord_events_knock(n, &k)) {
            rdma_door_hear(d, &k, looker);
            json_decref(k.word);
        }
    }
    rdma_door_unlock(door);
    return 0;
}

static void rdma_door_close(struct door *door)
{
    struct rdma_door *d = rdma_door_of(door);

    coord_events_knocks(d->world->coord_events, -1);
    fork_guard_close(d->base.fd);
    pthread_mutex_destroy(&d->lock);
    free(d);
}

int rdma_door_open(struct door **out, const struct world *w, struct fault *why)
{
    struct rdma_door *d = calloc(1, sizeof(*d));
    int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

    if (!d || fd < 0) {
        int err = errno;

        free(d);
        fork_guard_close(fd);
        return fd < 0 ? fault_os(why, ML_ERR_SYSTEM, err, "rank %d on host %s: eventfd", w->rank,
                                 w->job.host)
                      : fault_set(why, ML_ERR_MEMORY, "out of memory");
    }
    *d = (struct rdma_door){.base = {fd, rdma_door_look, rdma_door_close}, .world = w};
    pthread_mutex_init(&d->lock, NULL);
    fork_guard_add(fd);
    coord_events_knocks(w->coord_events, fd);
    *out = &d->base;
    return 0;
}

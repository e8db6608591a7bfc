/* SPDX-License-Identifier: MIT */
#include "rdma/rma/reach.h"
#include "rdma/rma/reach_helper.h"
#include "rdma/rma/reach_state.h"
#include "rdma/rma/reach_wait.h"

#include <stdatomic.h>

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

    reach_enter(r);
    tracks_begin(l, w);
    for (;;) {
        int moved = tracks_post(l, w, &r->copies);

        if (tracks_are_done(l, w))
            break;
        moved += reach_move(r);
        if (moved)
            since_ns = 0;
        else
            reach_wait(r, &since_ns);
    }
    if (!work_has_succeeded(w))
        rc = reach_refuse(p, why);
    reach_leave(r);
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

int reach_change(struct reach *r, int peer, const struct work_change *change, uint64_t offset,
                 uint64_t *old, struct fault *why)
{
    struct work w = {.is_get = true,
                     .change = *change,
                     .local = (unsigned char *)old,
                     .size = sizeof(*old),
                     .offset = offset};

    return reach_do(r, peer, &w, why);
}

int reach_flush(struct reach *r, int peer, struct fault *why)
{
    struct reach_peer *p = &r->peers[peer];
    int64_t since_ns = 0;
    int rc = 0;

    reach_enter(r);
    while (!tracks_are_idle(&p->tracks)) {
        if (reach_move(r) > 0)
            since_ns = 0;
        else
            reach_wait(r, &since_ns);
    }
    if (p->tracks.failed.code)
        rc = reach_refuse(p, why);
    reach_leave(r);
    return rc;
}

int reach_start(struct reach *r, struct work *w, struct fault *why)
{
    struct reach_peer *p = &r->peers[w->peer];
    int rc = 0;

    reach_enter(r);
    if (!reach_helper_begin(r)) {
        reach_leave(r);
        rc = w->is_get ? reach_get(r, w->peer, w->local, w->size, w->offset, why)
                       : reach_put(r, w->peer, w->local, w->size, w->offset, why);
        return rc ? rc : 1;
    }
    if (tracks_start(&p->tracks, w, &r->copies)) {
        rc = work_has_succeeded(w) ? 1 : reach_refuse(p, why);
    } else {
        r->started++;
        if (r->is_watched)
            reach_arm(r); /* for a thread that sleeps already */
        if (r->is_watched || w->is_queued)
            reach_move(r);
    }
    reach_leave(r);
    return rc;
}

void reach_await(struct reach *r, const _Atomic bool *done)
{
    int64_t since_ns = 0;

    reach_enter(r);
    while (!atomic_load(done)) {
        if (reach_move(r) > 0)
            since_ns = 0;
        else if (!atomic_load(done))
            reach_wait(r, &since_ns);
    }
    reach_leave(r);
}

void reach_look(struct reach *r)
{
    if (pthread_mutex_trylock(&r->lock))
        return;
    reach_move(r);
    pthread_mutex_unlock(&r->lock);
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

/* SPDX-License-Identifier: MIT */
#include "runtime/transport/shm_coll.h"

#include "runtime/group/group.h"
#include "runtime/group/link.h"
#include "runtime/group/sleeper.h"
#include "runtime/group/wait.h"

#include <string.h>

enum { LOOKS = 64 /* at a line before the first pause: ranks usually arrive together */ };

static bool shm_coll_has_posted(const struct shm_coll *b, int rank)
{
    return atomic_load_explicit(&shm_coll_line(b, rank, b->posted)->at, memory_order_acquire) >=
           b->posted;
}

/* --- posting ---------------------------------------------------------------------------------- */

/* The store is sequentially consistent, as sleeper.h needs it. */
static void shm_coll_publish(struct shm_coll *b, struct shm_coll_line *mine)
{
    struct group *g = b->group;

    atomic_store(&mine->at, ++b->posted);
    for (int i = 0; i < g->size; i++)
        if (i != g->rank)
            sleeper_wake(&g->shared.slots[i], g, i);
}

/* --- waiting ---------------------------------------------------------------------------------- */

/* Makes the links to members that have not posted yet the active ones, which wait_step looks
 * after. */
static int shm_coll_watch(struct shm_coll *b, struct fault *why)
{
    struct group *g = b->group;
    int rc = 0;

    g->active_count = 0;
    for (int i = 0; i < g->size && rc >= 0; i++) {
        struct link *l = g->links[i];

        l->active = i != g->rank && !shm_coll_has_posted(b, i);
        if (!l->active)
            continue;
        g->active[g->active_count++] = l;
        rc = l->ops->progress(l, why); /* notices if the peer has closed its end */
    }
    return rc < 0 ? rc : 0;
}

static void shm_coll_unwatch(struct shm_coll *b)
{
    struct group *g = b->group;

    for (int i = 0; i < g->active_count; i++)
        g->active[i]->active = false;
    g->active_count = 0;
}

static __attribute__((noinline)) int shm_coll_await(struct shm_coll *b, int rank, struct fault *why)
{
    struct waiting w = {0};
    int rc = 0;

    b->awaited = b->posted;
    while (!rc && !shm_coll_has_posted(b, rank)) {
        if (wait_spin(b->group, &w))
            continue;
        rc = shm_coll_watch(b, why);
        /* If `rank` has posted meanwhile, nothing would wake this rank. */
        if (!rc && b->group->links[rank]->active)
            rc = wait_step(b->group, &w, why);
    }
    b->awaited = 0;
    shm_coll_unwatch(b);
    if (!rc)
        wait_moved(b->group, &w);
    return rc;
}

int shm_coll_wait(struct shm_coll *b, struct fault *why)
{
    const struct group *g = b->group;
    int looks = 0, rc = 0;

    for (int i = 0; i < g->size && !rc; i++) {
        if (i == g->rank)
            continue;
        while (!shm_coll_has_posted(b, i) && looks < LOOKS)
            looks++;
        if (!shm_coll_has_posted(b, i))
            rc = shm_coll_await(b, i, why);
    }
    return rc;
}

/* --- rounds ----------------------------------------------------------------------------------- */

int shm_coll_begin(struct shm_coll *b, const void *payload, size_t size, struct fault *why)
{
    const struct group *g = b->group;
    struct shm_coll_line *mine = shm_coll_line(b, g->rank, b->posted + 1);
    struct message_op t = {.size = g->call.count};
    int rc;

    message_fill(&mine->call, &g->call, &t);
    if (size)
        memcpy(mine->payload, payload, size);
    shm_coll_publish(b, mine);
    rc = shm_coll_wait(b, why);
    for (t.peer = 0; t.peer < g->size && !rc; t.peer++)
        rc = message_check(g, &shm_coll_line(b, t.peer, b->posted)->call, &t, why);
    return rc;
}

int shm_coll_tell(struct shm_coll *b, const void *payload, size_t size, struct fault *why)
{
    memcpy(shm_coll_line(b, b->group->rank, b->posted + 1)->payload, payload, size);
    return shm_coll_round(b, why);
}

void shm_coll_post(struct shm_coll *b)
{
    shm_coll_publish(b, shm_coll_line(b, b->group->rank, b->posted + 1));
}

int shm_coll_round(struct shm_coll *b, struct fault *why)
{
    shm_coll_post(b);
    return shm_coll_wait(b, why);
}

/* SPDX-License-Identifier: MIT */
#include "runtime/transport/shm_board.h"

#include "runtime/group/group.h"
#include "runtime/group/link.h"
#include "runtime/group/sleeper.h"
#include "runtime/group/wait.h"

#include <string.h>

enum { LOOKS = 64 /* at a line before the first pause: ranks usually arrive together */ };

static bool shm_board_has_posted(const struct shm_board *b, int rank)
{
    return atomic_load_explicit(&shm_board_line(b, rank, b->posted)->at, memory_order_acquire) >=
           b->posted;
}

/* --- posting ---------------------------------------------------------------------------------- */

/* The store is sequentially consistent, as sleeper.h needs it. */
static void shm_board_publish(struct shm_board *b, struct board_line *mine)
{
    struct group *g = b->group;

    atomic_store(&mine->at, ++b->posted);
    for (int i = 0; i < g->size; i++)
        if (i != g->rank)
            sleeper_wake(&g->slots[i], g, i);
}

/* --- waiting ---------------------------------------------------------------------------------- */

/* Makes the links to members that have not posted yet the active ones, which wait_step looks
 * after. */
static int shm_board_watch(struct shm_board *b, struct fault *why)
{
    struct group *g = b->group;
    int rc = 0;

    g->active_count = 0;
    for (int i = 0; i < g->size && rc >= 0; i++) {
        struct link *l = g->links[i];

        l->active = i != g->rank && !shm_board_has_posted(b, i);
        if (!l->active)
            continue;
        g->active[g->active_count++] = l;
        rc = l->ops->progress(l, why); /* notices if the peer has closed its end */
    }
    return rc < 0 ? rc : 0;
}

static void shm_board_look_away(struct shm_board *b)
{
    struct group *g = b->group;

    for (int i = 0; i < g->active_count; i++)
        g->active[i]->active = false;
    g->active_count = 0;
}

static __attribute__((noinline)) int shm_board_await(struct shm_board *b, int rank,
                                                     struct fault *why)
{
    struct waiting w = {0};
    int rc = 0;

    b->awaited = b->posted;
    while (!rc && !shm_board_has_posted(b, rank)) {
        if (wait_spin(b->group, &w))
            continue;
        rc = shm_board_watch(b, why);
        /* If `rank` has posted meanwhile, nothing would wake this rank. */
        if (!rc && b->group->links[rank]->active)
            rc = wait_step(b->group, &w, why);
    }
    b->awaited = 0;
    shm_board_look_away(b);
    if (!rc)
        wait_moved(b->group, &w);
    return rc;
}

int shm_board_wait(struct shm_board *b, struct fault *why)
{
    const struct group *g = b->group;
    int looks = 0, rc = 0;

    for (int i = 0; i < g->size && !rc; i++) {
        if (i == g->rank)
            continue;
        while (!shm_board_has_posted(b, i) && looks < LOOKS)
            looks++;
        if (!shm_board_has_posted(b, i))
            rc = shm_board_await(b, i, why);
    }
    return rc;
}

/* --- rounds ----------------------------------------------------------------------------------- */

int shm_board_begin(struct shm_board *b, const void *payload, size_t size, struct fault *why)
{
    const struct group *g = b->group;
    struct board_line *mine = shm_board_line(b, g->rank, b->posted + 1);
    struct transfer t = {.size = g->call.count};
    int rc;

    message_fill(&mine->call, &g->call, &t);
    if (size)
        memcpy(mine->payload, payload, size);
    shm_board_publish(b, mine);
    rc = shm_board_wait(b, why);
    for (t.peer = 0; t.peer < g->size && !rc; t.peer++)
        rc = message_check(g, &shm_board_line(b, t.peer, b->posted)->call, &t, why);
    return rc;
}

int shm_board_tell(struct shm_board *b, const void *payload, size_t size, struct fault *why)
{
    memcpy(shm_board_line(b, b->group->rank, b->posted + 1)->payload, payload, size);
    return shm_board_round(b, why);
}

void shm_board_post(struct shm_board *b)
{
    shm_board_publish(b, shm_board_line(b, b->group->rank, b->posted + 1));
}

int shm_board_round(struct shm_board *b, struct fault *why)
{
    shm_board_post(b);
    return shm_board_wait(b, why);
}

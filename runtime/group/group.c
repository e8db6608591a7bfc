/* SPDX-License-Identifier: MIT */
#include "runtime/group/group.h"

#include "runtime/group/world.h"
#include "runtime/process/fork_guard.h"

#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SCRATCH_ALIGN = 64 /* a cache line, and the widest vector register */ };

enum { UNUSED_KEPT = 512 };

/* Structs of groups that were destroyed, the oldest first. A program may pass the handle of a group
 * that is gone: the struct can be read, and its world is NULL. It is used again only after
 * UNUSED_KEPT others have gone, or a stale handle would soon be that of another group. */
static struct {
    pthread_mutex_t lock; /* also over the groups' lookers */
    pthread_cond_t looked;
    struct group *first, **end;
    size_t count;
} unused = {
    .lock = PTHREAD_MUTEX_INITIALIZER, .looked = PTHREAD_COND_INITIALIZER, .end = &unused.first};

static struct group *group_take_unused(void)
{
    struct group *g = NULL;

    pthread_mutex_lock(&unused.lock);
    if (unused.count > UNUSED_KEPT) {
        g = unused.first;
        unused.first = g->unused_next; /* not the last one */
        unused.count--;
    }
    pthread_mutex_unlock(&unused.lock);
    return g;
}

const char *group_describe(const struct group *g, int rank, char text[GROUP_MEMBER_TEXT])
{
    const struct world *w = g->world;
    int member = g->members[rank];

    snprintf(text, GROUP_MEMBER_TEXT, "rank %d on host %s", member,
             w->host_names[w->host_of[member]]);
    return text;
}

static int group_allocate(struct group *g, const int *members, struct fault *why)
{
    const struct world *w = g->world;
    size_t n = (size_t)g->size;

    g->members = calloc(n, sizeof(*g->members));
    g->host_of = calloc(n, sizeof(*g->host_of));
    g->links = calloc(n, sizeof(*g->links));
    g->active = calloc(n, sizeof(*g->active));
    g->waiting.polls = calloc(2 * n + 4, sizeof(*g->waiting.polls));
    g->peer_bells = calloc(n, sizeof(*g->peer_bells));
    for (int i = 0; i < g->size && g->peer_bells; i++)
        g->peer_bells[i] = -1;
    if (!g->members || !g->host_of || !g->links || !g->active || !g->waiting.polls ||
        !g->peer_bells)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    for (int i = 0; i < g->size; i++) {
        g->members[i] = members[i];
        g->host_of[i] = w->host_of[members[i]];
        if (members[i] == w->rank)
            g->rank = i;
    }
    return 0;
}

int group_create(struct group **out, struct world *w, uint32_t id, const int *members, int size,
                 struct fault *why)
{
    struct group *g = group_take_unused();
    int rc;

    if (g)
        memset(g, 0, sizeof(*g));
    else
        g = calloc(1, sizeof(*g));
    if (!g)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    g->world = w;
    atomic_fetch_add(&w->group_count, 1);
    g->id = id;
    g->is_world = id == w->world_id;
    g->size = size;
    g->waiting.bell = -1;
    g->waiting.waker = -1;
    rc = group_allocate(g, members, why);
    if (rc) {
        group_destroy(g);
        return rc;
    }
    *out = g;
    return 0;
}

bool group_look_begin(struct group *g)
{
    bool is_there;

    if (fork_guard_is_child) /* nobody ends it here, and the lock may be held for ever */
        return g->world != NULL;
    pthread_mutex_lock(&unused.lock);
    is_there = g->world && !g->users.is_over;
    g->users.lookers += is_there;
    pthread_mutex_unlock(&unused.lock);
    return is_there;
}

void group_look_end(struct group *g)
{
    if (fork_guard_is_child)
        return;
    pthread_mutex_lock(&unused.lock);
    if (--g->users.lookers == 0)
        pthread_cond_broadcast(&unused.looked);
    pthread_mutex_unlock(&unused.lock);
}

/* The rest of the struct stays as it was, because other threads may be looking at it. */
void group_destroy(struct group *g)
{
    struct world *w = g ? g->world : NULL;

    if (!g)
        return;
    pthread_mutex_lock(&unused.lock);
    g->users.is_over = true;
    while (g->users.lookers)
        pthread_cond_wait(&unused.looked, &unused.lock);
    __atomic_store_n(&g->world, NULL, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&unused.lock);
    for (int i = 0; i < g->size && g->peer_bells; i++)
        fork_guard_close(g->peer_bells[i]);
    free(g->peer_bells);
    free(g->scratch.memory);
    free(g->waiting.polls);
    free(g->active);
    free(g->links);
    free(g->hierarchy);
    free(g->host_of);
    free(g->members);
    pthread_mutex_lock(&unused.lock);
    g->unused_next = NULL;
    *unused.end = g;
    unused.end = &g->unused_next;
    unused.count++;
    pthread_mutex_unlock(&unused.lock);
    group_release(g);
    atomic_fetch_sub(&w->group_count, 1); /* from here on the world may be gone */
}

void *group_scratch(struct group *g, size_t size)
{
    size_t rounded = (size + SCRATCH_ALIGN - 1) & ~(size_t)(SCRATCH_ALIGN - 1);
    void *fresh;

    if (size <= g->scratch.size && g->scratch.memory)
        return g->scratch.memory;
    if (rounded < size)
        return NULL;
    fresh = aligned_alloc(SCRATCH_ALIGN, rounded ? rounded : SCRATCH_ALIGN);
    if (!fresh)
        return NULL;
    free(g->scratch.memory);
    g->scratch.memory = fresh;
    g->scratch.size = rounded ? rounded : SCRATCH_ALIGN;
    return fresh;
}

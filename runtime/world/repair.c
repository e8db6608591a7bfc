/* SPDX-License-Identifier: MIT */
/*
 * repair.c: the new world is connected (membership_join.c) before the old one is closed: if that
 * fails, the program has a handle to try again with. If the system has no room for both, the old
 * one is emptied, and the members try again at once.
 */
#include "runtime/world/repair.h"

#include "coordinator/protocol.h"
#include "runtime/call/call.h"
#include "runtime/call/progress.h"
#include "runtime/group/coord_events.h"
#include "runtime/group/world.h"
#include "runtime/process/claim.h"
#include "runtime/process/stdio_guard.h"
#include "runtime/world/group_join.h"
#include "runtime/world/membership_join.h"
#include "runtime/world/window_join.h"
#include "runtime/world/world_join.h"

#include <stdlib.h>

/* Other threads' calls have been ended by the first REPAIR of any rank. They may go on to make
 * calls, and to free their groups. */
static void groups_retire(struct group *old, const struct group *but)
{
    struct coord_events *e = old->world->coord_events;
    struct fault why;
    struct group *g;

    fault_set(&why, ML_ERR_PEER,
              "this is of membership %u, which ended in ml_repair; the new world is what that "
              "returned, and ml_init returns it too",
              old->world->membership - (old == but ? 0u : 1u));
    window_join_retire(&why);
    while ((g = coord_events_other_group(e, but))) {
        if (g != old && !group_take(g, "repair", NULL))
            continue;
        if (g->is_window) { /* it came up meanwhile */
            group_release(g);
            window_join_retire(&why);
            continue;
        }
        progress_settle(g);
        group_retire(g, &why);
    }
}

/* Leaves only the old world's handle. */
static void old_world_empty(struct group *old, const struct fault *why)
{
    groups_retire(old, old);
    progress_settle(old);
    old->broken = *why;
    group_disconnect(old);
}

/* The ids in `a` that are not in `b`, both ascending, or have another process there. *out is owned
 * by the caller, and has room for all of `a`. */
static int ids_without(int **out, const struct world *w, const int *a, int a_count, const int *b,
                       int b_count)
{
    int count = 0;

    *out = calloc((size_t)a_count + 1, sizeof(**out));
    for (int i = 0, k = 0; i < a_count && *out; i++) {
        while (k < b_count && b[k] < a[i])
            k++;
        if (k == b_count || b[k] != a[i] || (w->has_come && w->has_come[a[i]]))
            (*out)[count++] = a[i];
    }
    return *out ? count : -1;
}

/* What has changed; the lists are the world's, until the next change. */
static int change_make(struct world_change *c, const struct group *old, const struct membership *m,
                       struct fault *why)
{
    *c = (struct world_change){0};
    c->left_count =
        ids_without(&c->left, old->world, old->members, old->size, m->members, m->count);
    c->came_count =
        ids_without(&c->came, old->world, m->members, m->count, old->members, old->size);
    return c->left && c->came ? 0 : fault_set(why, ML_ERR_MEMORY, "out of memory");
}

int repair_run(struct group *old, struct group **next, struct ml_change *change, struct fault *why)
{
    struct world *w = old->world;
    struct membership m = {0};
    struct world_change changed = {0};
    struct group *made = NULL;
    int held[STDIO_GUARD], rc;

    if (!w->is_launched || !w->job.elastic)
        return fault_set(why, ML_ERR_STATE,
                         "this job does not go on without a rank: start it with mlaunch --elastic "
                         "MIN, the least ranks with which it may");
    rc = world_join_change_begin("ml_repair", why);
    if (rc)
        return rc;
    stdio_guard_begin(held);
    claim_clear_broken(w->dir, w->rank); /* if it dies from here on, that is a death of its own */
    rc = membership_join(w, old, true, &m, &made, why);
    if (rc == ML_ERR_SYSTEM) { /* all members have this code, and do the same */
        old_world_empty(old, why);
        rc = membership_join(w, old, true, &m, &made, why);
    }
    if (!rc)
        rc = change_make(&changed, old, &m, why);
    if (!rc) {
        groups_retire(old, made);
        world_join_set_group(w, made, &changed);
        *next = made;
        if (change)
            *change = (struct ml_change){(int)w->membership, changed.left_count, changed.left,
                                         changed.came_count, changed.came};
    } else {
        claim_mark_broken(w->dir, w->rank, why->text);
        group_leave(made);
        free(changed.left);
        free(changed.came);
    }
    stdio_guard_end(held);
    world_join_change_end();
    free(m.members);
    return rc;
}

void repair_revoke(struct group *g, bool holds, const char *text)
{
    struct coord_events *e = g->world->coord_events;
    char who[GROUP_MEMBER_TEXT];
    struct fault why;

    fault_set(&why, ML_ERR_PEER, "%s has called ml_revoke%s%s", group_describe(g, g->rank, who),
              text && *text ? ": " : "", text ? text : "");
    if (holds && !group_is_busy(g))
        call_fail(g, &why);
    else if (g->size == 1)
        coord_events_end_call(e, g, &why);
    else if (!coord_events_broken(e, g, NULL))
        coord_events_break(e, g, &why); /* the call that is under way hears it with all others */
}

int repair_agree(struct group *g, uint64_t *value, struct fault *why)
{
    struct coord_events *e = g->world->coord_events;
    int rc;

    if (g->size == 1)
        return 0;
    rc = coord_events_send(
        e, COORD_AGREE,
        json_pack("{s:I, s:I}", "group", (json_int_t)g->id, "value", (json_int_t)*value), why);
    return rc ? rc : coord_events_await_answer(e, g, "agree", value, why);
}

/* SPDX-License-Identifier: MIT */
#include "runtime/api_group.h"

#include "runtime/api_last.h"
#include "runtime/call/call.h"
#include "runtime/call/check.h"
#include "runtime/call/progress.h"
#include "runtime/group/coord_events.h"
#include "runtime/group/world.h"
#include "runtime/process/fork_guard.h"
#include "runtime/world/group_join.h"
#include "runtime/world/repair.h"
#include "runtime/world/split.h"
#include "runtime/world/world_join.h"

#include <stdlib.h>

/* --- the job ---------------------------------------------------------------------------------- */

static int world_take(ml_group **out, bool eager)
{
    struct world *w;
    int rc = check_no_operator(&api_last);

    if (rc)
        return rc;
    if (fork_guard_is_child)
        return fault_set(&api_last, ML_ERR_STATE,
                         "the process that forked this one holds the rank; a forked child can't be "
                         "a rank, unless it executes another program after the parent has left");
    rc = world_join_init(&w, eager, &api_last);
    if (!rc && out)
        *out = api_group_handle(w->group);
    return rc;
}

int api_group_init(ml_group **world)
{
    if (!world)
        return fault_set(&api_last, ML_ERR_ARGUMENT, "world is NULL");
    return world_take(world, false);
}

int api_group_init_eager(void)
{
    return world_take(NULL, true);
}

int api_group_finalize(void)
{
    int rc = check_no_operator(&api_last);

    if (rc)
        return rc;
    if (fork_guard_is_child)
        return fault_set(&api_last, ML_ERR_STATE, "a forked child can't give up its parent's rank");
    return world_join_finalize(&api_last);
}

/* --- groups ----------------------------------------------------------------------------------- */

int api_group_rank(const ml_group *handle)
{
    const struct group *g = api_group_of(handle);
    int rc = check_handle(g, &api_last);

    return rc ? rc : g->rank;
}

int api_group_size(const ml_group *handle)
{
    const struct group *g = api_group_of(handle);
    int rc = check_handle(g, &api_last);

    return rc ? rc : g->size;
}

/* Until group_look_end no other thread ends the group. */
int api_group_look_begin(struct group *g)
{
    int rc = check_handle(g, &api_last);

    while (!rc && !group_look_begin(g))
        rc = check_handle(g, &api_last); /* it is gone by now */
    return rc;
}

const char *api_group_host(const ml_group *handle, int rank)
{
    struct group *g = api_group_of(handle);
    const char *name = NULL;

    if (api_group_look_begin(g))
        return NULL;
    if (check_rank(g, rank, "rank", &api_last) == 0)
        name = g->world->host_names[g->host_of[rank]];
    group_look_end(g);
    return name;
}

int api_group_split(ml_group *handle, int color, int key, ml_group **out)
{
    struct group *g = api_group_of(handle), *made = NULL;
    int rc = check_enter(g, "split", &api_last);

    if (rc)
        return rc;
    if (!out) {
        rc = fault_set(&api_last, ML_ERR_ARGUMENT, "out is NULL");
    } else {
        progress_settle(g);
        rc = call_begin(g, CALL_SPLIT, "split", 0, 0, 0, -1, &api_last);
    }
    if (!rc)
        rc = split_run(g, color, key, "split", &made, &api_last);
    group_release(g);
    if (!rc)
        *out = api_group_handle(made);
    return rc;
}

/* Stores the world ranks of these ranks of g in `members`. */
static int group_members(const struct group *g, const int *ranks, int count, int *members)
{
    bool has_me = false;

    for (int i = 0; i < count; i++) {
        int rc = check_rank(g, ranks[i], "a rank in ranks", &api_last);

        if (rc)
            return rc;
        has_me |= ranks[i] == g->rank;
        members[i] = g->members[ranks[i]];
        for (int k = 0; k < i; k++)
            if (ranks[k] == ranks[i])
                return fault_set(&api_last, ML_ERR_ARGUMENT, "rank %d is twice in ranks", ranks[i]);
    }
    return has_me ? 0
                  : fault_set(&api_last, ML_ERR_ARGUMENT,
                              "ranks lacks rank %d, which makes the call: only the members of the "
                              "new group make it",
                              g->rank);
}

/* The same, of arguments that have not been checked. */
static int group_create_members(const struct group *g, const int *ranks, int count, int timeout_ms,
                                ml_group *const *out, int **members)
{
    if (!out || !ranks || count < 1 || timeout_ms < 0)
        return fault_set(&api_last, ML_ERR_ARGUMENT,
                         !out     ? "out is NULL"
                         : !ranks ? "ranks is NULL"
                                  : "count is below 1, or timeout_ms below 0");
    if (count > g->size)
        return fault_set(&api_last, ML_ERR_ARGUMENT, "count is %d, and the group has %d ranks",
                         count, g->size);
    *members = calloc((size_t)count, sizeof(**members));
    if (!*members)
        return fault_set(&api_last, ML_ERR_MEMORY, "out of memory");
    return group_members(g, ranks, count, *members);
}

int api_group_create(ml_group *handle, const int *ranks, int count, uint64_t tag, int timeout_ms,
                     ml_group **out)
{
    struct group *g = api_group_of(handle), *made = NULL;
    int rc = check_enter(g, "group_create", &api_last), *members = NULL;

    if (rc)
        return rc;
    rc = group_create_members(g, ranks, count, timeout_ms, out, &members);
    if (!rc) {
        progress_settle(g);
        rc = split_create_run(g, members, count, tag, timeout_ms, &made, &api_last);
    }
    group_release(g);
    free(members);
    if (!rc)
        *out = api_group_handle(made);
    return rc;
}

void api_group_free(ml_group *handle)
{
    struct group *g = api_group_of(handle);
    struct fault why;

    if (!g || g->is_world || fork_guard_is_child || check_no_operator(&api_last) != 0)
        return;
    fault_set(&why, ML_ERR_STATE, "another thread, %d, has freed the group", thread_self());
    if (group_take(g, "group_free", &why))
        group_leave(g);
}

/* --- a world that changes --------------------------------------------------------------------- */

int api_group_repair(ml_group *handle, ml_group **next, ml_change *change)
{
    struct group *g = api_group_of(handle), *made = NULL;
    int rc = check_enter(g, "repair", &api_last);

    if (rc)
        return rc;
    if (!next)
        rc = fault_set(&api_last, ML_ERR_ARGUMENT, "next is NULL");
    else if (!g->is_world)
        rc = fault_set(&api_last, ML_ERR_ARGUMENT, "ml_repair takes the world, not a group of it");
    else
        rc = repair_run(g, &made, change, &api_last);
    if (rc) /* else it is gone, and this thread has it no more */
        group_release(g);
    else
        *next = api_group_handle(made);
    return rc;
}

int api_group_revoke(ml_group *handle, const char *why)
{
    struct group *g = api_group_of(handle);
    int rc = check_use(g, &api_last);

    if (rc)
        return rc;
    /* As a thread that ends the group: calls that come meanwhile wait, and then fail by this. */
    if (!group_hold_as(g, -thread_self(), "revoke")) {
        rc = api_group_look_begin(g);
        if (rc)
            return rc;
        repair_revoke(g, false, why);
        group_look_end(g);
        return 0;
    }
    rc = check_handle(g, &api_last);
    if (!rc)
        repair_revoke(g, true, why);
    group_release(g);
    return rc;
}

int api_group_agree(ml_group *handle, uint64_t *value)
{
    struct group *g = api_group_of(handle);
    int rc = check_enter(g, "agree", &api_last);

    if (rc)
        return rc;
    progress_settle(g);
    rc = value ? repair_agree(g, value, &api_last)
               : fault_set(&api_last, ML_ERR_ARGUMENT, "value is NULL");
    group_release(g);
    return rc;
}

int api_group_id(const ml_group *handle, int rank)
{
    struct group *g = api_group_of(handle);
    int rc = api_group_look_begin(g);

    if (rc)
        return rc;
    rc = check_rank(g, rank, "rank", &api_last);
    if (!rc)
        rc = g->members[rank];
    group_look_end(g);
    return rc;
}

int api_group_changed(const ml_group *handle)
{
    struct group *g = api_group_of(handle);
    int rc = api_group_look_begin(g);

    if (rc)
        return rc;
    rc = coord_events_has_changed(g->world->coord_events);
    group_look_end(g);
    return rc;
}

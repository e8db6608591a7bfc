/* SPDX-License-Identifier: MIT */
/*
 * repair.c: the coordinator decides who is a member (coordinator/membership.c). The new world is
 * connected before the old one is closed: if that fails, the program has a handle to try again
 * with. Whoever dies meanwhile is left out by another turn.
 */
#include "runtime/repair.h"

#include "common/clock.h"
#include "common/net/host_table.h"
#include "coordinator/protocol.h"
#include "runtime/call/call.h"
#include "runtime/call/progress.h"
#include "runtime/group/coord_events.h"
#include "runtime/group/world.h"
#include "runtime/group_join.h"
#include "runtime/process/claim.h"
#include "runtime/process/stdio_guard.h"
#include "runtime/process/thread_linux.h"
#include "runtime/window_join.h"
#include "runtime/world_join.h"

#include <poll.h>
#include <sodium.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    ANSWER_MS = 5000, /* beyond --init-timeout: for the coordinator to name who is missing */
    MOVED_MS = 10,    /* between looks for another coordinator */
    LOOK_MS = 1,      /* between looks whether other threads have left their calls */
};

/* REPAIRED, parsed. */
struct repaired {
    uint32_t membership, group;
    int *members, count;
};

static int repaired_parse(struct repaired *out, const json_t *j, const struct world *w,
                          struct fault *why)
{
    json_int_t membership, group;
    json_t *list;
    bool has_me = false;
    int rc = ML_ERR_REFUSED;

    *out = (struct repaired){0};
    if (json_unpack((json_t *)j, "{s:I, s:I, s:i, s:o}", "membership", &membership, "group", &group,
                    "count", &out->count, "members", &list) == 0 &&
        membership > 0 && membership <= UINT32_MAX && group > 0 && group <= INT32_MAX &&
        out->count > 0 && out->count <= w->size)
        rc = host_table_read_numbers(&out->members, list, out->count, w->size);
    for (int i = 0; i < out->count && !rc; i++) {
        has_me |= out->members[i] == w->rank;
        if (i > 0 && out->members[i] <= out->members[i - 1])
            rc = ML_ERR_REFUSED;
    }
    if (!rc && has_me) {
        out->membership = (uint32_t)membership;
        out->group = (uint32_t)group;
        return 0;
    }
    free(out->members);
    out->members = NULL;
    if (rc == ML_ERR_MEMORY)
        return fault_set(why, rc, "out of memory");
    return fault_set(why, ML_ERR_REFUSED, "the coordinator's answer to ml_repair is damaged");
}

/* The coordinator is lost: waits until mlaunch has made another one, whose address the agent writes
 * into job.json, and connects to it. */
static int repair_reconnect(struct world *w, struct fault *why)
{
    int64_t deadline_ms = clock_ms() + w->job.init_timeout_ms;
    uint8_t secret[AUTH_SECRET];
    struct job_file file;
    struct client *c;
    int rc;

    while (coord_events_fd(w->coord_events) < 0) {
        rc = job_file_read(w->dir, &file, secret, why);
        sodium_memzero(secret, sizeof(secret));
        if (rc)
            return rc;
        if (clock_left_ms(deadline_ms) == 0)
            return fault_set(why, ML_ERR_TIMEOUT,
                             "the job's coordinator at %s is lost, and there is no other one after "
                             "%d s",
                             w->job.coordinator, w->job.init_timeout_ms / 1000);
        if (strcmp(file.coordinator, w->job.coordinator) == 0) {
            poll(NULL, 0, MOVED_MS);
            continue;
        }
        memcpy(w->job.coordinator, file.coordinator, sizeof(file.coordinator));
        /* If that one is lost, too, there will be another. */
        if (client_open(&c, w->job.coordinator, w->dir, w->job.job, w->secret, w->rank,
                        w->generation, deadline_ms, why) == 0)
            coord_events_move(w->coord_events, c);
    }
    return 0;
}

static int repair_ask(struct group *g, struct repaired *out, struct fault *why)
{
    struct world *w = g->world;
    struct coord_events *e = w->coord_events;
    json_t *answer = NULL;
    int rc;

    coord_events_read(e, g);
    rc = repair_reconnect(w, why);
    if (rc)
        return rc;
    rc = coord_events_send(e, COORD_REPAIR,
                           json_pack("{s:I, s:i, s:I}", "pid", (json_int_t)getpid(), "timeout_ms",
                                     w->job.init_timeout_ms, "groups",
                                     (json_int_t)coord_events_groups_end(e)),
                           why);
    if (!rc) {
        progress_settle(g); /* its thread has the group until the coordinator breaks it for this */
        rc = coord_events_await_repaired(e, g, clock_ms() + w->job.init_timeout_ms + ANSWER_MS,
                                         &answer, why);
    }
    if (!rc)
        rc = repaired_parse(out, answer, w, why);
    json_decref(answer);
    return rc;
}

/* Connects the members that live. If one of them dies meanwhile, without it; if the coordinator is
 * lost, by the next one. */
static int repair_connect(struct group *g, struct repaired *r, struct group **made,
                          struct fault *why)
{
    struct world *w = g->world;
    uint32_t membership = w->membership, id = w->world_id;
    int rc;

    do {
        free(r->members);
        r->members = NULL; /* there may be no answer to the next question */
        rc = repair_ask(g, r, why);
        if (!rc) {
            w->membership = r->membership;
            w->world_id = r->group;
            rc = group_join(made, w, r->group, r->members, r->count, false,
                            clock_ms() + w->job.init_timeout_ms, why);
        }
    } while (rc == ML_ERR_PEER);
    if (rc) {
        w->membership = membership;
        w->world_id = id;
    }
    return rc;
}

/* Other threads' calls have been ended by the first REPAIR of any rank. */
static void calls_await(struct group *g)
{
    const char *inside = NULL;

    while (!atomic_compare_exchange_strong(&g->inside, &inside, "repair") &&
           thread_exists(atomic_load(&g->inside_thread))) {
        inside = NULL;
        poll(NULL, 0, LOOK_MS);
    }
}

static void old_groups_retire(struct group *old, const struct group *made)
{
    struct coord_events *e = old->world->coord_events;
    struct fault why;
    struct group *g;

    fault_set(&why, ML_ERR_PEER,
              "this is of membership %u, which ended in ml_repair; the new world is what that "
              "returned, and ml_init returns it too",
              (unsigned)made->world->membership - 1);
    window_join_retire(&why);
    while ((g = coord_events_other_group(e, made))) {
        if (g != old)
            calls_await(g);
        progress_settle(g);
        group_retire(g, &why);
    }
}

/* The ids in `a` that are not in `b`, both ascending. *out is owned by the caller, and has room for
 * all of `a`. */
static int ids_without(int **out, const int *a, int a_count, const int *b, int b_count)
{
    int count = 0;

    *out = calloc((size_t)a_count + 1, sizeof(**out));
    for (int i = 0, k = 0; i < a_count && *out; i++) {
        while (k < b_count && b[k] < a[i])
            k++;
        if (k == b_count || b[k] != a[i])
            (*out)[count++] = a[i];
    }
    return *out ? count : -1;
}

/* What has changed; the lists are the world's, until the next change. */
static int change_make(struct world_change *c, const struct group *old, const struct repaired *r,
                       struct fault *why)
{
    *c = (struct world_change){0};
    c->left_count = ids_without(&c->left, old->members, old->size, r->members, r->count);
    c->came_count = ids_without(&c->came, r->members, r->count, old->members, old->size);
    return c->left && c->came ? 0 : fault_set(why, ML_ERR_MEMORY, "out of memory");
}

int repair_run(struct group *old, struct group **next, struct ml_change *change, struct fault *why)
{
    struct world *w = old->world;
    struct repaired r = {0};
    struct world_change changed = {0};
    struct group *made = NULL;
    int held[STDIO_GUARD], rc;

    if (!w->is_launched || !w->job.elastic)
        return fault_set(why, ML_ERR_STATE,
                         "this job does not go on without a rank: start it with mlaunch --elastic "
                         "MIN, the least ranks with which it may");
    stdio_guard_begin(held);
    rc = repair_connect(old, &r, &made, why);
    if (!rc)
        rc = change_make(&changed, old, &r, why);
    if (!rc) {
        old_groups_retire(old, made);
        world_join_set_group(w, made, &changed);
        claim_clear_broken(w->dir, w->rank);
        *next = made;
        if (change)
            *change = (struct ml_change){(int)w->membership, changed.left_count, changed.left,
                                         changed.came_count, changed.came};
    } else {
        group_leave(made);
        free(changed.left);
        free(changed.came);
    }
    stdio_guard_end(held);
    free(r.members);
    return rc;
}

void repair_revoke(struct group *g, const char *text)
{
    char who[GROUP_MEMBER_TEXT];
    struct fault why;

    fault_set(&why, ML_ERR_PEER, "%s has called ml_revoke%s%s", group_describe(g, g->rank, who),
              text && *text ? ": " : "", text ? text : "");
    call_fail(g, &why);
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
    return rc ? rc : coord_events_await_agreed(e, g, value, why);
}

/* SPDX-License-Identifier: MIT */
#include "runtime/world/split.h"

#include "common/clock.h"
#include "common/net/host_table.h"
#include "common/text/parsed_json.h"
#include "coordinator/protocol.h"
#include "runtime/call/call.h"
#include "runtime/collective/collectives.h"
#include "runtime/group/coord_events.h"
#include "runtime/group/coord_news.h"
#include "runtime/group/world.h"
#include "runtime/process/claim.h"
#include "runtime/process/stdio_guard.h"
#include "runtime/world/group_join.h"

#include <limits.h>
#include <stdatomic.h>
#include <stdlib.h>

/* The next number of a group of one, which needs no coordinator: these numbers go down from here,
 * those of the coordinator up. */
static _Atomic uint32_t next_alone = UINT32_MAX;

static int split_create(struct group *g, uint32_t id, const int *members, int size,
                        const char *call, int timeout_ms, struct group **out, struct fault *why)
{
    int held[STDIO_GUARD], rc;

    stdio_guard_begin(held);
    rc = group_join(out, g->world, id, members, size, call, clock_ms() + timeout_ms, why);
    stdio_guard_end(held);
    return rc;
}

static int split_alone(struct group *g, const char *call, struct group **out, struct fault *why)
{
    return split_create(g, atomic_fetch_sub(&next_alone, 1), &g->world->rank, 1, call,
                        g->world->job.init_timeout_ms, out, why);
}

/* Parses SPLITTED {group, members}. *members: to be freed by the caller; NULL: this rank is in no
 * group. */
static int split_parse(const struct world *w, const struct reply *r, uint32_t *id, int **members,
                       int *size, struct fault *why)
{
    json_t *j = parsed_json(r->payload, r->size, 0, NULL), *list = NULL;
    json_int_t group = -1;
    bool has_me = false;

    *members = NULL;
    if (json_unpack(j, "{s:I, s?o}", "group", &group, "members", &list) != 0)
        goto bad;
    if (group < 0) {
        json_decref(j);
        return 0;
    }
    *id = (uint32_t)group;
    *size = (int)json_array_size(list);
    *members = calloc((size_t)*size + 1, sizeof(**members));
    if (!*members) {
        json_decref(j);
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    }
    for (int i = 0; i < *size; i++) {
        json_int_t member = json_integer_value(json_array_get(list, (size_t)i));

        if (member < 0 || member >= w->size)
            goto bad;
        (*members)[i] = (int)member;
        has_me |= member == w->rank;
    }
    if (!has_me)
        goto bad;
    json_decref(j);
    return 0;
bad:
    free(*members);
    *members = NULL;
    json_decref(j);
    return fault_set(why, ML_ERR_REFUSED, "the coordinator's answer to a split is damaged");
}

static int split_ask(struct group *g, int color, int key, struct reply *reply, struct fault *why)
{
    struct coord_events *e = g->world->coord_events;
    int rc;

    g->exchanges++;
    rc = coord_events_send(e, COORD_SPLIT,
                           json_pack("{s:I, s:I, s:i, s:i}", "group", (json_int_t)g->id, "seq",
                                     (json_int_t)g->exchanges, "color", color, "key", key),
                           why);
    return rc ? rc : coord_events_await(e, g, -1, reply, why);
}

int split_run(struct group *g, int color, int key, const char *call, struct group **out,
              struct fault *why)
{
    struct reply reply = {0};
    uint32_t id = 0;
    int *members = NULL, size = 0, rc;

    if (g->size == 1) {
        call_end(g, 0, why);
        *out = NULL;
        return color < 0 ? 0 : split_alone(g, call, out, why);
    }
    /* The coordinator knows nothing of calls that need no coordinator. So the ranks meet as in any
     * other call first, where one that is in another call is noticed. */
    rc = barrier_run(g, why);
    if (!rc)
        rc = split_ask(g, color, key, &reply, why);
    if (!rc)
        rc = split_parse(g->world, &reply, &id, &members, &size, why);
    reply_clear(&reply);
    /* The call on the parent ends here: if the new group does not come up, the parent is
     * unharmed. */
    rc = call_end(g, rc, why);
    if (!rc && members)
        rc = split_create(g, id, members, size, call, g->world->job.init_timeout_ms, out, why);
    else if (!rc)
        *out = NULL;
    if (rc == ML_ERR_PEER)
        claim_mark_broken(g->world->dir, g->world->rank, why->text);
    free(members);
    return rc;
}

static int create_ask(struct group *g, const int *members, int count, uint64_t tag, int timeout_ms,
                      uint64_t *id, struct fault *why)
{
    struct coord_events *e = g->world->coord_events;
    int rc;

    rc = coord_events_send(e, COORD_CREATE,
                           json_pack("{s:I, s:I, s:i, s:i, s:o}", "group", (json_int_t)g->id, "tag",
                                     (json_int_t)tag, "timeout_ms", timeout_ms, "count", count,
                                     "ranks", host_table_write_numbers(members, count)),
                           why);
    return rc ? rc : coord_events_await_answer(e, g, "group_create", id, why);
}

int split_create_run(struct group *g, const int *members, int count, uint64_t tag, int timeout_ms,
                     struct group **out, struct fault *why)
{
    const struct world *w = g->world;
    uint64_t id;
    int rc;

    if (timeout_ms == 0)
        timeout_ms = w->job.init_timeout_ms;
    /* If it dies from here on, that is a death of its own. */
    claim_clear_broken(w->dir, w->rank);
    if (count == 1)
        return split_alone(g, "group_create", out, why);
    rc = create_ask(g, members, count, tag, timeout_ms, &id, why);
    if (!rc && (id == 0 || id > INT_MAX))
        rc = fault_set(why, ML_ERR_REFUSED,
                       "the coordinator's answer to ml_group_create is damaged");
    if (!rc)
        rc = split_create(g, (uint32_t)id, members, count, "group_create", timeout_ms, out, why);
    if (rc == ML_ERR_PEER)
        claim_mark_broken(w->dir, w->rank, why->text);
    return rc;
}

/* SPDX-License-Identifier: MIT */
/*
 * keep_agree.c: every member says which versions it has of its own part, and of those of the ids
 * that are asked for besides, if they are on its host. So all know the same, and choose the same
 * one: the newest that each part has. Then each part's bytes are compared with their hash, by one
 * member, which fetches them now if they are on another host (--keep 2); if any is damaged, the
 * next version is tried.
 */
#include "runtime/keep/keep_agree.h"

#include "common/mlaunch.h"
#include "runtime/call/check.h"
#include "runtime/call/task_hash.h"
#include "runtime/call/task_run.h"
#include "runtime/keep/keep.h"
#include "runtime/keep/keep_copy.h"
#include "runtime/keep/keep_state.h"

#include <stdlib.h>
#include <string.h>

/* A version in a slot. */
struct kept_offer {
    uint64_t is_there; /* 1 or 0 */
    struct keep_stamp stamp;
};

/* What a member says, in words of 8 bytes: each part's offers. */
struct kept_said {
    uint64_t course; /* the highest that it knows */
    struct kept_offer offers[][KEPT_SLOTS];
};

struct talk {
    struct group *group;
    const char *name;
    const char *site; /* where in the program the call is, or NULL */
    const int *ids;   /* asked for besides those of the members */
    int id_count;
    bool is_here;             /* a version of this rank's part is on this host */
    struct keep_slots copies; /* if not: those that a keeper has */
    size_t said_size;
    unsigned char *all; /* what each member says, by rank */
};

static struct kept_said *said_of(const struct talk *t, int rank)
{
    return (struct kept_said *)(t->all + (size_t)rank * t->said_size);
}

/* --- saying ----------------------------------------------------------------------------------- */

static uint64_t question_hash(const struct talk *t)
{
    uint64_t h = task_hash_bytes((uint64_t)t->id_count, t->ids, (size_t)t->id_count * sizeof(int));

    return task_hash_bytes(h, t->name, strlen(t->name));
}

/* What members say is as long as they ask for parts, so they first make sure that all ask for the
 * same. */
static int talk_compare(const struct talk *t, struct fault *why)
{
    struct group *g = t->group;
    uint64_t mine = question_hash(t), *questions = calloc((size_t)g->size, sizeof(*questions));
    struct task gather = {.kind = CALL_ALL_GATHER,
                          .name = "kept",
                          .in = &mine,
                          .out = questions,
                          .count = sizeof(mine),
                          .site = t->site,
                          .root = -1};
    char who[GROUP_MEMBER_TEXT];
    int rc = questions ? task_run(g, &gather, why) : fault_set(why, ML_ERR_MEMORY, "out of memory");

    for (int r = 1; r < g->size && !rc; r++) {
        if (questions[r] != questions[0])
            rc = fault_set(why, ML_ERR_ARGUMENT,
                           "%s calls ml_kept with another name or other ids than rank %d",
                           group_describe(g, r, who), g->members[0]);
    }
    free(questions);
    return rc;
}

static void offers_say(const struct keep_slots *s, struct kept_offer offers[KEPT_SLOTS],
                       uint64_t *course)
{
    for (int i = 0; i < KEPT_SLOTS; i++) {
        if (s->state[i] != KEEP_SLOT_WHOLE)
            continue;
        offers[i] = (struct kept_offer){1, s->head[i].stamp};
        if (s->head[i].stamp.course > *course)
            *course = s->head[i].stamp.course;
    }
}

/* This process may be the first of its rank on this host: then it says what is elsewhere. */
static void own_say(struct talk *t, struct kept_said *mine)
{
    struct world *w = t->group->world;
    struct keep_owner o = keep_owner_of(w, t->name, w->rank);
    struct keep_slots here;

    keep_slots_look(&here, &o);
    for (int i = 0; i < KEPT_SLOTS; i++)
        t->is_here |= here.state[i] == KEEP_SLOT_WHOLE;
    if (!t->is_here)
        keep_copy_look(w, &o, &t->copies);
    offers_say(t->is_here ? &here : &t->copies, mine->offers[0], &mine->course);
}

static void part_say(const struct talk *t, int index, struct kept_said *mine)
{
    struct keep_owner o = keep_owner_of(t->group->world, t->name, t->ids[index]);
    struct keep_slots here;

    keep_slots_look(&here, &o);
    offers_say(&here, mine->offers[1 + index], &mine->course);
}

static int talk_gather(struct talk *t, struct fault *why)
{
    struct group *g = t->group;
    struct kept_said *mine = said_of(t, g->rank);
    struct task gather = {.kind = CALL_ALL_GATHER,
                          .name = "kept",
                          .in = mine,
                          .out = t->all,
                          .count = t->said_size,
                          .site = t->site,
                          .root = -1};

    mine->course = keep_course(g->world);
    own_say(t, mine);
    for (int i = 0; i < t->id_count; i++)
        part_say(t, i, mine);
    return task_run(g, &gather, why);
}

/* --- choosing --------------------------------------------------------------------------------- */

static bool offers_have(const struct kept_offer offers[KEPT_SLOTS], const struct keep_stamp *stamp)
{
    for (int i = 0; i < KEPT_SLOTS; i++) {
        if (offers[i].is_there && keep_slot_compare(&offers[i].stamp, stamp) == 0)
            return true;
    }
    return false;
}

/* The first member that has this version of the part of ids[index] on its host; or -1. */
static int part_holder(const struct talk *t, int index, const struct keep_stamp *stamp)
{
    for (int r = 0; r < t->group->size; r++) {
        if (offers_have(said_of(t, r)->offers[1 + index], stamp))
            return r;
    }
    return -1;
}

static bool all_have(const struct talk *t, const struct keep_stamp *stamp)
{
    for (int r = 0; r < t->group->size; r++) {
        if (!offers_have(said_of(t, r)->offers[0], stamp))
            return false;
    }
    for (int i = 0; i < t->id_count; i++) {
        if (part_holder(t, i, stamp) < 0)
            return false;
    }
    return true;
}

/* The newest version that all have, and that is older than *below (NULL: any). */
static bool talk_choose(const struct talk *t, const struct keep_stamp *below,
                        struct keep_stamp *out)
{
    const struct kept_offer *offers = said_of(t, 0)->offers[0];
    bool is_found = false;

    for (int i = 0; i < KEPT_SLOTS; i++) {
        const struct keep_stamp *one = &offers[i].stamp;

        if (offers[i].is_there && (!below || keep_slot_compare(one, below) < 0) &&
            (!is_found || keep_slot_compare(one, out) > 0) && all_have(t, one)) {
            *out = *one;
            is_found = true;
        }
    }
    return is_found;
}

/* --- comparing with the hash ------------------------------------------------------------------ */

static bool part_is_whole(const struct talk *t, int id, const struct keep_stamp *stamp)
{
    struct keep_owner o = keep_owner_of(t->group->world, t->name, id);
    struct keep_head head;
    struct fault ignored;
    int slot = keep_find(&o, stamp, &head);

    return slot >= 0 && keep_slot_read(&o, slot, &head, NULL, &ignored) == 0;
}

/* A copy is compared while it is fetched. */
static bool own_is_whole(const struct talk *t, const struct keep_stamp *stamp)
{
    struct world *w = t->group->world;
    struct keep_owner o = keep_owner_of(w, t->name, w->rank);
    int slot = keep_slots_find(&t->copies, stamp);

    return t->is_here ? part_is_whole(t, w->rank, stamp)
                      : slot >= 0 && keep_copy_fetch(w, &o, slot);
}

/* 1: all parts of it are whole. 0: not all. All members get the same. */
static int talk_verify(const struct talk *t, const struct keep_stamp *stamp, struct fault *why)
{
    struct group *g = t->group;
    uint8_t is_whole = own_is_whole(t, stamp);
    struct task least = {.kind = CALL_ALL_REDUCE,
                         .name = "kept",
                         .in = &is_whole,
                         .out = &is_whole,
                         .count = 1,
                         .type = ML_UINT8,
                         .op = ML_MIN,
                         .root = -1};
    int rc;

    for (int i = 0; i < t->id_count && is_whole; i++) {
        if (part_holder(t, i, stamp) == g->rank)
            is_whole = part_is_whole(t, t->ids[i], stamp);
    }
    rc = task_run(g, &least, why);
    return rc ? rc : is_whole;
}

/* 1 and *out, or 0. */
static int talk_settle(const struct talk *t, struct keep_stamp *out, struct fault *why)
{
    struct keep_stamp tried;
    const struct keep_stamp *below = NULL;
    int rc = 0;

    while (rc == 0 && talk_choose(t, below, out)) {
        rc = talk_verify(t, out, why);
        tried = *out;
        below = &tried;
    }
    return rc;
}

/* --- the call --------------------------------------------------------------------------------- */

/* What this rank has kept after the version that is restored belongs to a course that is over. */
static void later_drop(const struct talk *t, const struct keep_stamp *agreed)
{
    struct keep_owner o = keep_owner_of(t->group->world, t->name, t->group->world->rank);
    struct keep_slots here;

    keep_slots_look(&here, &o);
    keep_slots_drop_later(&here, &o, agreed);
}

static int talk_run(struct talk *t, struct keep_name *agreed, struct fault *why)
{
    struct keep_state *s = t->group->world->keep;
    int rc = talk_compare(t, why);

    agreed->is_there = false;
    if (!rc)
        rc = talk_gather(t, why);
    if (rc)
        return rc;
    for (int r = 0; r < t->group->size; r++) {
        if (said_of(t, r)->course >= s->course)
            s->course = said_of(t, r)->course + 1;
    }
    rc = talk_settle(t, &agreed->stamp, why);
    agreed->is_there = rc == 1;
    if (rc == 1)
        later_drop(t, &agreed->stamp);
    return rc;
}

static int ids_check(const struct group *g, const int *ids, int count, struct fault *why)
{
    int rc;

    if (count < 0 || count > g->world->size)
        return fault_set(why, ML_ERR_ARGUMENT, "count is %d, and the job has %d ids", count,
                         g->world->size);
    rc = check_buffer(ids, (size_t)count, "ids", why);
    if (rc)
        return rc;
    for (int i = 0; i < count; i++) {
        if (ids[i] < 0 || ids[i] >= g->world->size)
            return fault_set(why, ML_ERR_ARGUMENT,
                             "ids[%d] is %d, and the job has those from 0 to %d", i, ids[i],
                             g->world->size - 1);
    }
    return 0;
}

int keep_agree(struct group *g, const char *name, const char *site, const int *ids, int count,
               uint64_t *version, struct fault *why)
{
    struct talk t = {.group = g, .name = name, .site = site, .ids = ids, .id_count = count};
    struct keep_name *agreed = NULL;
    int rc = ids_check(g, ids, count, why);

    if (rc)
        return rc;
    if (keep_state_of(g->world))
        agreed = keep_state_name(g->world->keep, name);
    t.said_size = sizeof(struct kept_said) +
                  (size_t)(1 + count) * sizeof(struct kept_offer) * (size_t)KEPT_SLOTS;
    t.all = calloc((size_t)g->size, t.said_size);
    if (!agreed || !t.all)
        rc = fault_set(why, ML_ERR_MEMORY, "out of memory");
    else
        rc = talk_run(&t, agreed, why);
    if (rc == 1)
        *version = agreed->stamp.version;
    free(t.all);
    return rc;
}

/* SPDX-License-Identifier: MIT */
#include "runtime/keep/keep.h"

#include "common/mlaunch.h"
#include "runtime/keep/keep_copy.h"
#include "runtime/keep/keep_state.h"
#include "runtime/kernel/reduce_op.h"

#include <stdlib.h>
#include <string.h>

int keep_check(const struct world *w, const char *name, struct fault *why)
{
    if (!name || !kept_is_name(name))
        return fault_set(why, ML_ERR_ARGUMENT,
                         "\"%.80s\" is no name for what is kept: take 1 to %d letters, digits, and "
                         "any of . _ -",
                         name ? name : "", KEPT_NAME - 1);
    if (!w->is_launched)
        return fault_set(why, ML_ERR_STATE,
                         "this process is no rank of a job, so there is no agent that could hold "
                         "what it keeps: start it with mlaunch");
    return 0;
}

struct keep_owner keep_owner_of(const struct world *w, const char *name, int rank)
{
    return (struct keep_owner){
        .dir = w->dir, .job = w->job.job, .host = w->job.host, .name = name, .rank = rank};
}

/* --- keeping ---------------------------------------------------------------------------------- */

struct slots {
    enum keep_slot_state state[KEPT_SLOTS];
    struct keep_head head[KEPT_SLOTS];
};

static void slots_look(struct slots *s, const struct keep_owner *o)
{
    for (int i = 0; i < KEPT_SLOTS; i++)
        s->state[i] = keep_slot_look(o, i, &s->head[i]);
}

/* What the rank has kept later than what it keeps now: the program has gone back. If that stayed,
 * it would take one of the slots for ever. */
static void slots_drop_later(struct slots *s, const struct keep_owner *o,
                             const struct keep_stamp *now)
{
    for (int i = 0; i < KEPT_SLOTS; i++) {
        if (s->state[i] == KEEP_SLOT_WHOLE && keep_slot_compare(&s->head[i].stamp, now) > 0) {
            keep_slot_drop(o, i);
            s->state[i] = KEEP_SLOT_NONE;
        }
    }
}

/* True if slot a may be overwritten rather than slot b, both whole. */
static bool slot_is_older(const struct keep_head *a, const struct keep_head *b)
{
    int order = keep_slot_compare(&a->stamp, &b->stamp);

    return order ? order < 0 : a->written < b->written;
}

/* Which slot the version goes to: one that is not whole; else the one with the same version, so
 * that the version before it stays; else the older one. */
static int slots_choose(const struct slots *s, const struct keep_stamp *now)
{
    for (int i = 0; i < KEPT_SLOTS; i++) {
        if (s->state[i] != KEEP_SLOT_WHOLE)
            return i;
    }
    for (int i = 0; i < KEPT_SLOTS; i++) {
        if (keep_slot_compare(&s->head[i].stamp, now) == 0)
            return i;
    }
    return slot_is_older(&s->head[0], &s->head[1]) ? 0 : 1;
}

int keep_put(struct world *w, const char *name, const void *memory, size_t size, int type,
             uint64_t version, struct fault *why)
{
    struct keep_owner o = keep_owner_of(w, name, w->rank);
    struct keep_head head = {
        .type = (uint32_t)type, .size = size, .stamp = {keep_course(w), version}};
    struct slots s;
    int slot, rc;

    slots_look(&s, &o);
    slots_drop_later(&s, &o, &head.stamp);
    for (int i = 0; i < KEPT_SLOTS; i++) {
        if (s.state[i] == KEEP_SLOT_WHOLE && s.head[i].written >= head.written)
            head.written = s.head[i].written + 1;
    }
    slot = slots_choose(&s, &head.stamp);
    rc = keep_slot_write(&o, slot, &head, memory, why);
    return rc ? rc : keep_copy_put(w, &o, slot, &head, memory, why);
}

/* --- restoring -------------------------------------------------------------------------------- */

/* Both slots may have the version, if its rank has kept it twice: then it is the later one. */
int keep_find(const struct keep_owner *o, const struct keep_stamp *stamp, struct keep_head *out)
{
    struct slots s;
    int found = -1;

    slots_look(&s, o);
    for (int i = 0; i < KEPT_SLOTS; i++) {
        if (s.state[i] == KEEP_SLOT_WHOLE && keep_slot_compare(&s.head[i].stamp, stamp) == 0 &&
            (found < 0 || slot_is_older(&s.head[found], &s.head[i])))
            found = i;
    }
    if (found >= 0)
        *out = s.head[found];
    return found;
}

/* The version that is to be restored. */
static int agreed_find(const struct world *w, const char *name, struct keep_stamp *out,
                       struct fault *why)
{
    const struct keep_agreed *a = w->keep ? w->keep->agreed : NULL;

    while (a && strcmp(a->name, name) != 0)
        a = a->next;
    if (a && a->is_there) {
        *out = a->stamp;
        return 0;
    }
    return fault_set(why, ML_ERR_STATE,
                     "there is no version of \"%s\" to restore: ml_kept finds the one that all "
                     "ranks have, and %s",
                     name, a ? "has found none" : "was not called for it");
}

/* The slot of this host in which that version of id's part is; or an error. */
static int part_find(const struct world *w, const char *name, int id, struct keep_head *head,
                     struct fault *why)
{
    struct keep_owner o = keep_owner_of(w, name, id);
    struct keep_stamp stamp;
    int slot, rc;

    if (id < 0 || id >= w->size)
        return fault_set(why, ML_ERR_ARGUMENT, "id is %d, and the job has those from 0 to %d", id,
                         w->size - 1);
    rc = agreed_find(w, name, &stamp, why);
    if (rc)
        return rc;
    slot = keep_find(&o, &stamp, head);
    if (slot >= 0)
        return slot;
    if (w->host_of[id] != w->host_of[w->rank])
        return fault_set(
            why, ML_ERR_STATE,
            "version %llu of \"%s\" of rank %d is not on this host, %s: it was kept on "
            "host %s, where a rank can restore it and send it",
            (unsigned long long)stamp.version, name, id, w->job.host,
            w->host_names[w->host_of[id]]);
    return fault_set(
        why, ML_ERR_STATE,
        "rank %d has no whole version %llu of \"%s\" on host %s: it was never kept, or "
        "later ones have taken its place",
        id, (unsigned long long)stamp.version, name, w->job.host);
}

int keep_size(const struct world *w, const char *name, int id, size_t *size, struct fault *why)
{
    struct keep_head head;
    int slot = part_find(w, name, id, &head, why);

    if (slot < 0)
        return slot;
    *size = (size_t)head.size;
    return 0;
}

int keep_get(const struct world *w, const char *name, int id, void *memory, size_t size, int type,
             struct fault *why)
{
    struct keep_owner o = keep_owner_of(w, name, id);
    struct keep_head head;
    int slot = part_find(w, name, id, &head, why);

    if (slot < 0)
        return slot;
    if (head.size != size)
        return fault_set(why, ML_ERR_ARGUMENT,
                         "version %llu of \"%s\" of rank %d has %llu bytes, and the buffer %zu: "
                         "ml_kept_size says how many there are",
                         (unsigned long long)head.stamp.version, name, id,
                         (unsigned long long)head.size, size);
    if (type && head.type && (uint32_t)type != head.type)
        return fault_set(why, ML_ERR_ARGUMENT,
                         "version %llu of \"%s\" of rank %d was kept as %s, and is to be restored "
                         "as %s",
                         (unsigned long long)head.stamp.version, name, id,
                         reduce_type_name((int)(head.type - 1)), reduce_type_name(type - 1));
    return keep_slot_read(&o, slot, &head, memory, why);
}

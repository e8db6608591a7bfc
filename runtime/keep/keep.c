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

/* Which slot the version goes to: one that is not whole; else the one with the same version, or the
 * only one with a later one, so that the version before it stays; else the older one. */
static int slots_choose(const struct keep_slots *s, const struct keep_stamp *now)
{
    int older;
    bool is_between;

    for (int i = 0; i < KEPT_SLOTS; i++) {
        if (s->state[i] != KEEP_SLOT_WHOLE)
            return i;
    }
    for (int i = 0; i < KEPT_SLOTS; i++) {
        if (keep_slot_compare(&s->head[i].stamp, now) == 0)
            return i;
    }
    older = keep_slot_is_older(&s->head[0], &s->head[1]) ? 0 : 1;
    is_between = keep_slot_compare(&s->head[older].stamp, now) < 0 &&
                 keep_slot_compare(&s->head[1 - older].stamp, now) > 0;
    return is_between ? 1 - older : older;
}

static void copy_add(const void *piece, size_t size, void *arg)
{
    keep_copy_add(arg, piece, size);
}

int keep_put(struct world *w, const char *name, const void *memory, size_t size, int type,
             uint64_t version, struct fault *why)
{
    struct keep_owner o = keep_owner_of(w, name, w->rank);
    struct keep_head head = {
        .type = (uint32_t)type, .size = size, .stamp = {keep_course(w), version}};
    struct keep_copy copy = {.world = w, .owner = &o, .size = size};
    struct keep_slots s;
    int rc;

    keep_slots_look(&s, &o);
    for (int i = 0; i < KEPT_SLOTS; i++) {
        if (s.state[i] == KEEP_SLOT_WHOLE && s.head[i].written >= head.written)
            head.written = s.head[i].written + 1;
    }
    copy.slot = slots_choose(&s, &head.stamp);
    rc = keep_slot_write(&o, copy.slot, &head, memory, copy_add, &copy, why);
    if (rc) {
        keep_copy_drop(&copy);
        return rc;
    }
    /* If the program has gone back, nothing later shall stay; but only now is this one sure. */
    s.state[copy.slot] = KEEP_SLOT_NONE;
    keep_slots_drop_later(&s, &o, &head.stamp);
    return keep_copy_end(&copy, &head, why);
}

/* --- restoring -------------------------------------------------------------------------------- */

int keep_find(const struct keep_owner *o, const struct keep_stamp *stamp, struct keep_head *out)
{
    struct keep_slots s;
    int found;

    keep_slots_look(&s, o);
    found = keep_slots_find(&s, stamp);
    if (found >= 0)
        *out = s.head[found];
    return found;
}

/* The version that is to be restored. */
static int agreed_find(const struct world *w, const char *name, struct keep_stamp *out,
                       struct fault *why)
{
    const struct keep_name *a = w->keep ? keep_state_find(w->keep, name) : NULL;

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

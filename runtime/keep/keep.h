/* SPDX-License-Identifier: MIT */
/*
 * keep.h: what this rank keeps, and what it gets back (ml_keep, ml_restore).
 *
 * Each name has two slots, and a new version takes the place of the older one, so that the newer
 * one is whole all the time. Versions belong to a course: each ml_kept begins another one, with a
 * number that no rank has used, and so a version that a rank has kept before a restoration is
 * never taken for the one of the same number that others keep after it.
 *
 * One thread at a time, that which uses the world.
 */
#ifndef RUNTIME_KEEP_KEEP_H
#define RUNTIME_KEEP_KEEP_H

#include "runtime/group/group.h"
#include "runtime/group/world.h"
#include "runtime/keep/keep_slot.h"

/* ML_ERR_ARGUMENT: that is no name. ML_ERR_STATE: no agent has started this process. */
int keep_check(const struct world *w, const char *name, struct fault *why);

/* Whose slots they are: rank `rank`'s on this host. */
struct keep_owner keep_owner_of(const struct world *w, const char *name, int rank);

/* The slot with this version, checked as keep_slot_look does, its head in *out; or -1. */
int keep_find(const struct keep_owner *o, const struct keep_stamp *stamp, struct keep_head *out);

/* As ml_keep, with what ml_next_type has said in `type`. */
int keep_put(struct world *w, const char *name, const void *memory, size_t size, int type,
             uint64_t version, struct fault *why);

/* As ml_kept_size and ml_restore. */
int keep_size(const struct world *w, const char *name, int id, size_t *size, struct fault *why);
int keep_get(const struct world *w, const char *name, int id, void *memory, size_t size, int type,
             struct fault *why);

#endif

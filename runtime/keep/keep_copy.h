/* SPDX-License-Identifier: MIT */
/*
 * keep_copy.h: copies of what this rank keeps on the next host of the job (--keep 2). The keeper of
 * that host's agent holds them, in files like the slots with the same names. ml_keep sends a copy,
 * and ml_kept fetches one that this host lacks into the slot.
 *
 * If the next host does not answer, the rank goes on without copies for as long as it lives.
 *
 * One thread at a time, that which uses the world.
 */
#ifndef RUNTIME_KEEP_KEEP_COPY_H
#define RUNTIME_KEEP_KEEP_COPY_H

#include "runtime/keep/keep_slot.h"

struct world;

/* Sends the version that the slot has now, and waits until its copy is whole. ML_ERR_SYSTEM: that
 * host has no room for it. 0 also if there is no keeper, or none any more. */
int keep_copy_put(struct world *w, const struct keep_owner *o, int slot,
                  const struct keep_head *head, const void *data, struct fault *why);

/* Fetches the copies of the slots, of which none is whole here. What cannot be had is left out. */
void keep_copy_fetch(struct world *w, const struct keep_owner *o);

#endif

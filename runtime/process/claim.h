/* SPDX-License-Identifier: MIT */
/*
 * claim.h: which process of a host is rank N. That process holds a lock on the rank's record in
 * JOB_DIR/claims, which contains its pid and how often the rank has been claimed: the generation in
 * which it meets the other ranks. Not thread-safe: world_join.c has a lock.
 */
#ifndef RUNTIME_PROCESS_CLAIM_H
#define RUNTIME_PROCESS_CLAIM_H

#include "common/fault.h"

#include <stdint.h>

struct claim;

/* ML_ERR_STATE names the pid if another process holds the rank; ML_ERR_SYSTEM, ML_ERR_MEMORY. The
 * kernel holds the lock: it ends with the process, however that ends, and forked children don't
 * have it. */
int claim_take(struct claim **out, const char *dir, int rank, uint32_t *generation,
               struct fault *why);
/* The holder meets the others in that generation, in the place of one that did. ML_ERR_SYSTEM. */
int claim_set(struct claim *c, int rank, uint32_t generation, struct fault *why);
void claim_release(struct claim *c); /* takes NULL */

/* Leaves JOB_DIR/rank.N.broken, by which the agent knows that this rank has been told that a peer
 * is gone: if the rank fails now, it was not the first to fail. claim_take removes the file of an
 * earlier generation. */
void claim_mark_broken(const char *dir, int rank, const char *text);
void claim_clear_broken(const char *dir, int rank); /* it goes on without that peer */

#endif

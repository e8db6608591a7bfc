/* SPDX-License-Identifier: MIT */
/*
 * claim.h: which process of a host is rank N. JOB_DIR/rank.N.claim is locked by the process that
 * is, and holds its pid and how often the rank has been claimed: the generation in which it meets
 * the others.
 */
#ifndef RUNTIME_GROUP_CLAIM_H
#define RUNTIME_GROUP_CLAIM_H

#include "common/fault.h"

#include <stdint.h>

struct claim;

/* ML_ERR_STATE naming the pid if another process holds the rank. The lock is the kernel's: it ends
 * with the process, however it ends, and forked children don't have it. */
int claim_take(struct claim **out, const char *dir, int rank, uint32_t *generation,
               struct fault *why);
void claim_release(struct claim *c); /* takes NULL */

/* Leaves JOB_DIR/rank.N.broken: this rank was told that a peer is gone, so if it fails now, it is
 * not the first to. claim_take removes what an earlier generation left. */
void claim_mark_broken(const char *dir, int rank, const char *text);

#endif

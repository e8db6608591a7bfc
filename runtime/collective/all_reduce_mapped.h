/* SPDX-License-Identifier: MIT */
/*
 * all_reduce_mapped.h: all_reduce of long vectors that lie in memory of ml_alloc on all members of
 * a group that share memory. Each member maps the others' vectors and reads there, so nothing is
 * copied for the others. All members must be able to: in the first round of a call they exchange
 * where their vectors are, and in a second one whether they could map them.
 */
#ifndef RUNTIME_COLLECTIVE_ALL_REDUCE_MAPPED_H
#define RUNTIME_COLLECTIVE_ALL_REDUCE_MAPPED_H

#include "runtime/group/group.h"

/* A call in which all members have agreed to do so. */
struct mapped {
    struct group *group;
    const char **in, **out; /* by member; in the group's scratch memory */
    char *mine;             /* out, to be written */
    size_t size;
};

/* Begins a call on the board, as shm_coll_begin, with a turn of the cells. Returns 1 if all members
 * have agreed: then all_reduce_mapped_run does the rest. Returns 0 if all continue with cells. A
 * round is over then, before which each member has called `give` to fill its own cell. Or returns
 * an error. */
int all_reduce_mapped_begin(struct mapped *m, struct group *g, const void *in, void *out,
                            size_t size, void (*give)(const void *context), const void *context,
                            struct fault *why);

/* Reduces. Returns once no other member reads this one's vectors any more. */
int all_reduce_mapped_run(const struct mapped *m, struct fault *why);

#endif

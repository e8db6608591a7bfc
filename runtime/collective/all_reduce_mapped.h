/* SPDX-License-Identifier: MIT */
/*
 * all_reduce_mapped.h: all_reduce of long vectors that lie in memory of ml_alloc at all members of a group which share
 * memory. Each maps the others' and reads there, so that nothing is copied for others. It takes all of them: what each has
 * is told in a call's first round, and whether it could map the others' in a second.
 */
#ifndef RUNTIME_COLLECTIVE_ALL_REDUCE_MAPPED_H
#define RUNTIME_COLLECTIVE_ALL_REDUCE_MAPPED_H

#include "runtime/group/group.h"

/* A call in which all have agreed. */
struct mapped {
    struct group *group;
    const char **in, **out; /* by member; in the group's scratch */
    char *mine;             /* out, to be written */
    size_t size;
};

/* Begins a call on the board, as shm_board_begin and with a turn of the cells. 1: all have agreed, and all_reduce_mapped does the
 * rest. 0: all go on with cells, after a round before which each has put into its own what `give` does. Or an error. */
int all_reduce_mapped_begin(struct mapped *m, struct group *g, const void *in, void *out,
                            size_t size, void (*give)(const void *context), const void *context,
                            struct fault *why);

/* Returns once nobody reads this member's vectors any more. */
int all_reduce_mapped_run(const struct mapped *m, struct fault *why);

#endif

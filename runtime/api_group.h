/* SPDX-License-Identifier: MIT */
/*
 * api_group.h: the calls of mlaunch.h on the world and its groups: who is in them, how they are
 * made and given back, and what becomes of them as ranks die and come. They do what its comments
 * say.
 */
#ifndef RUNTIME_API_GROUP_H
#define RUNTIME_API_GROUP_H

#include "common/mlaunch.h"
#include "runtime/group/group.h"

/* What a handle stands for. It has not been checked (check.h). */
static inline struct group *api_group_of(const ml_group *g)
{
    return (struct group *)(uintptr_t)g;
}
static inline ml_group *api_group_handle(struct group *g)
{
    return (ml_group *)g;
}

int api_group_init(ml_group **world);
int api_group_init_eager(void);
int api_group_finalize(void);
int api_group_rank(const ml_group *handle);
int api_group_size(const ml_group *handle);
const char *api_group_host(const ml_group *handle, int rank);
int api_group_split(ml_group *handle, int color, int key, ml_group **out);
int api_group_create(ml_group *handle, const int *ranks, int count, uint64_t tag, int timeout_ms,
                     ml_group **out);
void api_group_free(ml_group *handle);
int api_group_repair(ml_group *handle, ml_group **next, ml_change *change);
int api_group_revoke(ml_group *handle, const char *why);
int api_group_agree(ml_group *handle, uint64_t *value);
int api_group_id(const ml_group *handle, int rank);
int api_group_changed(const ml_group *handle);

/* Checks g for a thread that only looks at its members and its world: until group_look_end no other
 * thread ends it. ML_ERR_STATE, ML_ERR_ARGUMENT; api_last has the sentence. */
int api_group_look_begin(struct group *g);

#endif

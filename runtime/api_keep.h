/* SPDX-License-Identifier: MIT */
/* api_keep.h: the calls of mlaunch.h on memory that outlives ranks. They do what its comments
 * say. */
#ifndef RUNTIME_API_KEEP_H
#define RUNTIME_API_KEEP_H

#include "common/mlaunch.h"

int api_keep(ml_group *handle, const char *name, const void *memory, size_t size, uint64_t version);
int api_keep_kept(ml_group *handle, const char *name, const int *ids, int count, uint64_t *version);
int api_keep_kept_size(ml_group *handle, const char *name, int id, size_t *size);
int api_keep_restore(ml_group *handle, const char *name, int id, void *memory, size_t size);

#endif

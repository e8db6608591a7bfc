/* SPDX-License-Identifier: MIT */
/* api_memory.h: the calls of mlaunch.h that give memory: ml_alloc, and pools. They do what its
 * comments say. */
#ifndef RUNTIME_API_MEMORY_H
#define RUNTIME_API_MEMORY_H

#include "common/mlaunch.h"

int api_memory_alloc(size_t size, void **out);
void api_memory_free(void *memory);
int api_memory_pool_create(size_t size, size_t alignment, ml_pool **out);
int api_memory_pool_create_at(void *memory, size_t size, size_t alignment, ml_pool **out);
void api_memory_pool_destroy(ml_pool *handle);
int api_memory_pool_alloc(ml_pool *handle, size_t size, void **out);
int api_memory_pool_free(ml_pool *handle, void *block);
void *api_memory_pool_memory(ml_pool *handle, size_t *size);
int api_memory_pool_left(ml_pool *handle, size_t *left, size_t *longest);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * alloc.h: the memory of ml_alloc, whole pages of its own. RDMA devices register it when they first
 * use it (rdma/region.h) and keep it so; other transports treat it as any other.
 */
#ifndef RUNTIME_ALLOC_H
#define RUNTIME_ALLOC_H

#include "common/fault.h"

#include <stddef.h>

/* Thread-safe. *out: `size` bytes of zeros, page-aligned, never NULL. ML_ERR_ARGUMENT, ML_ERR_MEMORY. */
int alloc_take(size_t size, void **out, struct fault *why);
void alloc_give(void *memory); /* takes NULL */

/* Who must know of all of it from now on: `add` is called for what is there, and for what comes; `drop`
 * before it is unmapped, but not in a forked child, whose copy is nobody's concern. Once a process. */
struct alloc_watcher {
    void (*add)(void *memory, size_t size);
    void (*drop)(void *memory);
};
void alloc_watch(const struct alloc_watcher *w);

#endif

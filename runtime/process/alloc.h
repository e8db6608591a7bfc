/* SPDX-License-Identifier: MIT */
/*
 * alloc.h: the memory of ml_alloc, whole pages of its own. RDMA devices register it when they first
 * use it (rdma/verbs/region.h) and keep it so. Where the system allows it, it lies in a file without a name
 * (alloc_file_linux.h), so that other processes of the job can read it (peer_memory_linux.h).
 */
#ifndef RUNTIME_PROCESS_ALLOC_H
#define RUNTIME_PROCESS_ALLOC_H

#include "common/fault.h"
#include "runtime/process/alloc_file_linux.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Thread-safe. *out: `size` bytes of zeros, page-aligned, never NULL. ML_ERR_ARGUMENT, ML_ERR_MEMORY. */
int alloc_take(size_t size, void **out, struct fault *why);
void alloc_give(void *memory); /* takes NULL */

/* Where something lies: which piece of memory (its place in the file, never used twice), and where in that. */
struct alloc_place {
    uint64_t block, block_size, offset;
};

/* Where `size` bytes lie, in which file. False: other processes can't read them there. Thread-safe. */
bool alloc_find(const void *memory, size_t size, struct alloc_file *file,
                struct alloc_place *place);

/* Who must know of all of it from now on: `add` is called for what is there, and for what comes; `drop`
 * before it is unmapped. Neither is in a forked child of the process that holds a rank: it uses no device, and a
 * thread that it doesn't have may hold the watcher's lock. Once a process. */
struct alloc_watcher {
    void (*add)(void *memory, size_t size);
    void (*drop)(void *memory);
};
void alloc_watch(const struct alloc_watcher *w);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * alloc.h: the memory of ml_alloc, in whole pages. An RDMA device registers it at its first use
 * (rdma/verbs/region.h) and keeps it registered. If the system allows it, the memory lies in a file
 * without a name (alloc_file_linux.h), so that other processes of the job can read it
 * (peer_memory_linux.h). All functions are thread-safe.
 */
#ifndef RUNTIME_PROCESS_ALLOC_H
#define RUNTIME_PROCESS_ALLOC_H

#include "common/fault.h"
#include "runtime/process/alloc_file_linux.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* *out: `size` bytes of zeros, page-aligned, never NULL, to be given back by alloc_give.
 * ML_ERR_ARGUMENT if `out` is NULL, ML_ERR_MEMORY. */
int alloc_take(size_t size, void **out, struct fault *why);
void alloc_give(void *memory); /* takes NULL */

/* Where a piece of memory lies: the block of ml_alloc by its place in the file (never used twice),
 * and the offset in that block. In bytes. */
struct alloc_place {
    uint64_t block, block_size, offset;
};

/* Stores in *file and *place where the `size` bytes at `memory` lie. False, and nothing is stored:
 * they are not all in one block in the file, so other processes can't read them there. */
bool alloc_find(const void *memory, size_t size, struct alloc_file *file,
                struct alloc_place *place);

/* True if the `size` bytes at `memory` are all in one block. */
bool alloc_holds(const void *memory, size_t size);

/* A block that is pinned is in use: the program may not free it (alloc_is_pinned). `memory` is
 * anywhere in one; the last unpin ends it. A forked child has no pins. */
void alloc_pin(const void *memory);
void alloc_unpin(const void *memory);
bool alloc_is_pinned(const void *memory);

/* Callbacks about all of the memory: alloc_watch calls `add` for every block that exists,
 * alloc_take for each new one, and alloc_give calls `drop` before the block is unmapped. They run
 * in the calling thread under alloc.c's lock, so they must not call alloc.h. Neither is called in a
 * forked child of the process that holds a rank: the child uses no device, and the lock of a
 * watcher may be held by a thread that the child doesn't have. */
struct alloc_watcher {
    void (*add)(void *memory, size_t size);
    void (*drop)(void *memory);
};
/* At most once a process; *w is copied. */
void alloc_watch(const struct alloc_watcher *w);

#endif

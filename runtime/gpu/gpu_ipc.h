/* SPDX-License-Identifier: MIT */
/*
 * gpu_ipc.h: memory of a GPU that belongs to another process of this host, which gives a handle of
 * it (CUDA IPC): the bytes go from GPU to GPU, or within one. To open a handle takes long, so what
 * was opened is kept, for the giver's allocation as the driver numbers it there. Any thread.
 */
#ifndef RUNTIME_GPU_GPU_IPC_H
#define RUNTIME_GPU_GPU_IPC_H

#include "runtime/gpu/gpu_memory.h"

enum { GPU_IPC_KEPT = 16 /* allocations of others, at most */ };

/* What the giver says of its bytes. Other processes have it in memory that they share. */
struct gpu_ipc_place {
    struct cuda_ipc_handle handle;
    uint64_t base, id; /* the allocation, as the giver's process has it */
    uint64_t offset;   /* where the bytes begin in it */
};

/* For the giver: where the bytes are, which are in the memory that `m` describes. False: `why` has
 * the reason. */
bool gpu_ipc_find(const struct gpu_memory *m, const void *at, size_t size,
                  struct gpu_ipc_place *out, struct fault *why);

/* For the taker: copies the bytes to `to`, which is in the memory that `m` describes, or in host
 * memory (gpu_memory_here), and waits.
 * giver: a number that no other process has. False, and nothing more is written: `why` has the
 * reason. */
bool gpu_ipc_copy(const struct gpu_memory *m, void *to, uint64_t giver,
                  const struct gpu_ipc_place *from, size_t size, struct fault *why);
/* The same in the other direction. */
bool gpu_ipc_put(const struct gpu_memory *m, const void *from, uint64_t giver,
                 const struct gpu_ipc_place *to, size_t size, struct fault *why);

/* Closes what was opened of a giver, and is not in use. */
void gpu_ipc_forget(uint64_t giver);

#endif

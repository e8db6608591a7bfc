/* SPDX-License-Identifier: MIT */
/*
 * gpu_bounce.h: host memory that takes the place of a GPU buffer during a call. It is memory of
 * ml_alloc, so RDMA devices and the ranks of the host use it without a copy more, and it is
 * registered with the driver, whose copies are faster then. Some of it is kept for the next call,
 * because to register memory takes longer than to copy it.
 */
#ifndef RUNTIME_GPU_GPU_BOUNCE_H
#define RUNTIME_GPU_GPU_BOUNCE_H

#include "runtime/gpu/cuda_driver.h"

enum {
    GPU_BOUNCE_KEPT = 4,                /* pieces that are kept, at most */
    GPU_BOUNCE_KEPT_SIZE = 16 << 20,    /* the longest of them */
    GPU_BOUNCE_SHORTEST_SIZE = 64 << 10 /* a piece has a power of two, this at least */
};

struct gpu_bounce {
    void *memory; /* NULL: none */
    size_t size;
    bool is_registered; /* else the driver copies it all the same, but more slowly */
};

/* At least `size` bytes with any content, for the caller alone until gpu_bounce_close. A context
 * must be current in both (gpu_memory_enter). ML_ERR_MEMORY. */
int gpu_bounce_open(struct gpu_bounce *out, const struct cuda_driver *driver, size_t size,
                    struct fault *why);
void gpu_bounce_close(const struct gpu_bounce *b, const struct cuda_driver *driver);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * gpu_range.h: the allocations of GPU memory that RDMA devices may have registered. The driver does
 * not say when the program frees one, so each is asked for again whenever one is offered: what has
 * another id by now, or none, was freed, and is dropped. Any thread.
 */
#ifndef RUNTIME_GPU_GPU_RANGE_H
#define RUNTIME_GPU_GPU_RANGE_H

#include "runtime/gpu/gpu_memory.h"

enum { GPU_RANGE_REFUSAL = 160 };

/* Who registers them. `add` owns the dma-buf, in error too, which is -1 if the driver has given
 * none, for the reason `refusal`. Both run in the thread that offers, under a lock of gpu_range.c.
 */
struct gpu_range_watcher {
    bool (*add)(void *base, size_t size, int dmabuf, uint64_t offset, const char *refusal);
    void (*drop)(void *base);
};
/* At most once a process; *w is copied. */
void gpu_range_watch(const struct gpu_range_watcher *w);

/* By what an RDMA device may register bytes of GPU memory. */
struct gpu_range_export {
    int dmabuf;                      /* to be closed by the caller; -1: the driver gives none */
    uint64_t offset;                 /* where the bytes begin in it */
    char refusal[GPU_RANGE_REFUSAL]; /* why it gives none */
};
/* For the bytes of a window's part, which are in the memory that `m` describes. False: devices
 * can't register such memory in any way, and `why` has the reason. */
bool gpu_range_export(const struct gpu_memory *m, const void *at, size_t size,
                      struct gpu_range_export *out, struct fault *why);

/* True if the watcher knows the allocation that has these bytes, which are in the memory that `m`
 * describes. False: `why` has the reason, but no code if nobody watches. */
bool gpu_range_offer(const struct gpu_memory *m, const void *at, size_t size, struct fault *why);

#endif

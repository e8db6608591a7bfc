/* SPDX-License-Identifier: MIT */
/*
 * region_gpu.h: registration of a GPU's memory, from which the device then reads and to which it
 * writes without the host's memory: by a dma-buf, which the GPU's driver makes and the kernel's
 * RDMA passes on; else as if it were host memory, which nvidia-peermem makes possible.
 */
#ifndef RDMA_VERBS_REGION_GPU_H
#define RDMA_VERBS_REGION_GPU_H

#include "common/fault.h"
#include "common/ranges.h"

#include <stdint.h>

struct explain_place;
struct ibv_mr;
struct ibv_pd;

/* How a device reaches memory. A larger one is the worse. */
enum region_way { REGION_HOST, REGION_DMABUF, REGION_PEERMEM };

enum { REGION_GPU_REFUSAL = 160 };

struct region_gpu {
    int dmabuf;                       /* a file descriptor, or -1 */
    uint64_t offset;                  /* where the memory begins in the dma-buf */
    char refusal[REGION_GPU_REFUSAL]; /* why there is no dma-buf */
};

/* Registers the memory in `range`, and stores in *way how. NULL: neither way works, and `why` says
 * what each lacks. */
struct ibv_mr *region_gpu_register(const struct region_gpu *g, const struct range *range,
                                   struct ibv_pd *domain, int access, enum region_way *way,
                                   const struct explain_place *at, struct fault *why);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * gpu_way.h: how the bytes of GPU memory go to and from another rank, told once for each peer and
 * way if mlaunch runs with -v; and once, without it, why RDMA devices can't register any.
 */
#ifndef RUNTIME_GPU_GPU_WAY_H
#define RUNTIME_GPU_GPU_WAY_H

#include "common/fault.h"

enum gpu_way {
    GPU_WAY_STAGED,  /* copied through host memory */
    GPU_WAY_DMABUF,  /* an RDMA device reads and writes the GPU's memory */
    GPU_WAY_PEERMEM, /* the same */
    GPU_WAYS
};

/* rank, peer: in the job. why: of what is staged, with code ML_ERR_DEVICE if that was refused;
 * else not read. Any thread. */
void gpu_way_tell(int rank, int peer, enum gpu_way way, const struct fault *why);

#endif

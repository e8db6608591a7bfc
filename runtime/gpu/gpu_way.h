/* SPDX-License-Identifier: MIT */
/*
 * gpu_way.h: how the bytes of GPU memory go to and from another rank, told once for each peer,
 * way and reason if mlaunch runs with -v. Without it, only why RDMA devices can't register any is
 * told, once.
 */
#ifndef RUNTIME_GPU_GPU_WAY_H
#define RUNTIME_GPU_GPU_WAY_H

#include "common/fault.h"

enum gpu_way {
    GPU_WAY_STAGED,  /* copied to host memory as a whole, or from there */
    GPU_WAY_PIECES,  /* copied through host memory in pieces */
    GPU_WAY_REFUSED, /* the same, because RDMA devices can't register it */
    GPU_WAY_IPC,     /* one process copies it out of the other's */
    GPU_WAY_DMABUF,  /* an RDMA device reads and writes the GPU's memory */
    GPU_WAY_PEERMEM, /* the same */
    GPU_WAYS
};

/* rank, peer: in the job. why: the reason of the first three; else not read. Any thread. */
void gpu_way_tell(int rank, int peer, enum gpu_way way, const struct fault *why);
/* The same of collective calls, which copy it through host memory: in pieces, or as a whole, for a
 * reason. */
void gpu_way_tell_calls(int rank, const char *reason);

#endif

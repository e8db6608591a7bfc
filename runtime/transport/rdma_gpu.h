/* SPDX-License-Identifier: MIT */
/*
 * rdma_gpu.h: messages over RDMA whose bytes are on a GPU. Long ones go from or to its memory where
 * the devices have registered it, at either end without regard to the other; all else goes through
 * pieces of host memory, which are copied while others are under way. What comes before the sender
 * knows where to write comes in slots, so both ways may meet in one message.
 */
#ifndef RUNTIME_TRANSPORT_RDMA_GPU_H
#define RUNTIME_TRANSPORT_RDMA_GPU_H

#include "runtime/group/link.h"

struct endpoint;
struct endpoint_table;

/* A link's end, for the functions below, whose messages are those with `gpu`. */
struct rdma_gpu {
    const struct link *link;
    const struct endpoint_table *rdma;
    struct endpoint *endpoint;
};

/* Before t begins to be sent: sets t->buf to where the device or the processor reads the bytes, or
 * the first of them. ML_ERR_DEVICE, ML_ERR_MEMORY. */
int rdma_gpu_send(const struct rdma_gpu *s, struct message_op *t, struct fault *why);
/* After the endpoint's begin for t, and before each part of it: brings the bytes that are next. 1;
 * 0: the devices still read those before; ML_ERR_DEVICE. */
int rdma_gpu_turn(const struct rdma_gpu *s, const struct message_op *t, struct fault *why);

/* Where the peer's device may write the message of t: on the GPU, or NULL. */
void *rdma_gpu_announced(const struct rdma_gpu *s, const struct message_op *t);

/* The next bytes of t have come: written to the GPU by a device if `bytes` is NULL, else they are
 * copied from there. ML_ERR_DEVICE, ML_ERR_MEMORY. */
int rdma_gpu_take(const struct rdma_gpu *s, struct message_op *t, const void *bytes, size_t size,
                  struct fault *why);

/* All of t has come; what is not on the GPU is on its way there. ML_ERR_DEVICE. */
int rdma_gpu_end(const struct rdma_gpu *s, const struct message_op *t, struct fault *why);

#endif

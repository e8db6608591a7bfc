/* SPDX-License-Identifier: MIT */
/*
 * gpu_memory.h: whether a pointer of the program is memory of a GPU, and when the program's own
 * work on it is done. The driver is asked in every call: memory may have been freed since, and its
 * addresses used again, and what identifies a buffer costs the same question.
 */
#ifndef RUNTIME_GPU_GPU_MEMORY_H
#define RUNTIME_GPU_GPU_MEMORY_H

#include "common/fault.h"
#include "runtime/gpu/cuda_driver.h"

struct gpu_memory {
    const struct cuda_driver *driver;
    void *context;    /* in which it can be copied */
    int device;       /* as the driver counts */
    bool is_managed;  /* it moves between host and GPU */
    bool is_retained; /* `context` is the device's primary one, to be released */
};

/* 1: it is, managed memory included; *out is to be given to gpu_memory_close. 0: host memory,
 * pinned or not. ML_ERR_DEVICE. */
int gpu_memory_open(struct gpu_memory *out, const struct cuda_driver *driver, const void *at,
                    struct fault *why);
void gpu_memory_close(const struct gpu_memory *m);

/* The current context of the calling thread, for copies between host memory and a GPU; there is
 * nothing to close. False: it has none. */
bool gpu_memory_here(struct gpu_memory *out, const struct cuda_driver *driver);

/* The driver's number of the allocation at this address, which it never gives twice in a process.
 * 0: there is none. */
uint64_t gpu_memory_id(const struct cuda_driver *driver, const void *at);

/* Makes the memory's context that of the calling thread, until gpu_memory_leave. ML_ERR_DEVICE.
 *
 * While the program captures a stream, in any thread, the driver forbids what may wait for the GPU,
 * and would end that capture. What the library does has no part in a capture, so until then the
 * thread says that it takes care, too. */
int gpu_memory_enter(const struct gpu_memory *m, struct fault *why);
void gpu_memory_leave(const struct gpu_memory *m);

/* Waits until the work in `stream` is done, as ml_next_stream has named it, or in all of the
 * memory's context (NULL). ML_ERR_ARGUMENT, and nothing is harmed: a capture is under way.
 * ML_ERR_DEVICE. */
int gpu_memory_wait(const struct gpu_memory *m, void *stream, struct fault *why);

/* False: work that is queued on the GPU once an RDMA device has written to the memory sees that
 * without gpu_memory_settle. */
bool gpu_memory_must_settle(const struct gpu_memory *m);

/* Once an RDMA device has written to the memory: returns when work that is queued from now on sees
 * that. ML_ERR_DEVICE. */
int gpu_memory_settle(const struct gpu_memory *m, struct fault *why);

#endif

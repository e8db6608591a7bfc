/* SPDX-License-Identifier: MIT */
/*
 * gpu_part.h: a rank's part of a window that lies in the memory of a GPU. The processor can't read
 * or write it, so all that this process does there is a copy by the driver, which is done when the
 * function returns. Any thread.
 *
 * Numbers are changed in host memory, between two copies, under a lock: they are atomic towards
 * each other, but not towards the GPU's own work.
 */
#ifndef RUNTIME_GPU_GPU_PART_H
#define RUNTIME_GPU_GPU_PART_H

#include "runtime/gpu/gpu_bounce.h"
#include "runtime/gpu/gpu_memory.h"

#include <pthread.h>
#include <stdatomic.h>

struct gpu_part {
    struct gpu_memory memory;
    unsigned char *at; /* on the GPU */
    size_t size;
    uint64_t id;              /* the allocation's, by gpu_memory_id */
    pthread_mutex_t numbers;  /* over each change of one */
    _Atomic uint64_t changes; /* how many there were */
};

/* Waits for the program's work in that stream, or in the memory's context (NULL). *out: NULL if
 * `at` is host memory.
 * ML_ERR_ARGUMENT: the bytes are not all in one allocation, or a stream is being captured.
 * ML_ERR_DEVICE, ML_ERR_MEMORY. */
int gpu_part_open(struct gpu_part **out, const struct cuda_driver *driver, void *stream, void *at,
                  size_t size, struct fault *why);
void gpu_part_close(struct gpu_part *p); /* takes NULL */

/* Copy bytes of the part, which the caller has checked to be in it; the other side may be memory of
 * the host or of a GPU. ML_ERR_DEVICE: the driver fails, or the program has freed the memory. */
int gpu_part_read(const struct gpu_part *p, size_t offset, void *into, size_t size,
                  struct fault *why);
int gpu_part_write(const struct gpu_part *p, size_t offset, const void *from, size_t size,
                   struct fault *why);

/* Once an RDMA device has written to the part: returns when work that is queued on the GPU from now
 * on sees that. ML_ERR_DEVICE, as above. */
int gpu_part_settle(const struct gpu_part *p, struct fault *why);

/* Host memory for `size` bytes that go to the part or come from it, which the driver copies fast;
 * close takes one that is closed. ML_ERR_DEVICE, ML_ERR_MEMORY. */
int gpu_part_stage(const struct gpu_part *p, struct gpu_bounce *out, size_t size,
                   struct fault *why);
void gpu_part_unstage(const struct gpu_part *p, struct gpu_bounce *b);

/* Adds `value` to the number at `offset`; or, if it is *expected (not NULL), makes it `value`. *old
 * is what it was. ML_ERR_DEVICE. */
int gpu_part_change(struct gpu_part *p, size_t offset, const uint64_t *expected, uint64_t value,
                    uint64_t *old, struct fault *why);

#endif

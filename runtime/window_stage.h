/* SPDX-License-Identifier: MIT */
/*
 * window_stage.h: puts and gets of a process that has a GPU's driver. A buffer in the memory of a
 * GPU is copied through host memory, once the program's work on it is done; one in host memory
 * takes its usual way. A part on a GPU of this host is opened by CUDA IPC if the driver lets this
 * process do that, and then its owner has nothing to do. Any thread. Beside the errors of
 * window_call.h: ML_ERR_DEVICE and ML_ERR_MEMORY, which harm nothing.
 */
#ifndef RUNTIME_WINDOW_STAGE_H
#define RUNTIME_WINDOW_STAGE_H

#include "runtime/gpu/cuda_driver.h"
#include "runtime/window/window_call.h"

struct stage_gpu {
    const struct cuda_driver *driver;
    void *stream; /* the program's, as ml_next_window_stream has named it; NULL: any */
};

/* out: NULL, or where a request goes if the operation is to be started; it stays NULL if that is
 * done at once. What is put has been copied from the GPU when it returns; what is got is copied
 * there by the thread that learns that the request is done. */
int window_stage_put(struct stage_gpu gpu, struct window *w, const void *from, size_t size, int to,
                     size_t offset, struct request **out, struct fault *why);
int window_stage_get(struct stage_gpu gpu, struct window *w, void *into, size_t size, int from,
                     size_t offset, struct request **out, struct fault *why);
int window_stage_put_signal(struct stage_gpu gpu, struct window *w, const void *from, size_t size,
                            int to, size_t offset, size_t signal_offset, uint64_t add,
                            struct fault *why);

#endif

/* SPDX-License-Identifier: MIT */
#include "runtime/window_stage.h"

#include "runtime/gpu/gpu_buffer.h"

/* 1: `at` is memory of a GPU, and *b is open. 0: it is not, or there is nothing to copy. */
static int stage_open(struct gpu_buffer *b, const struct cuda_driver *driver, const void *at,
                      size_t size, struct fault *why)
{
    struct gpu_memory memory;
    int rc = gpu_memory_open(&memory, driver, at, why);

    if (rc <= 0)
        return rc;
    rc = gpu_buffer_open(b, &memory, at, size, NULL, why);
    return rc ? rc : 1;
}

/* The same, and what is to be put is in the buffer's host memory. */
static int stage_open_put(struct gpu_buffer *b, const struct cuda_driver *driver, struct window *w,
                          const void *from, size_t size, int to, size_t offset, struct fault *why)
{
    struct gpu_span all = {0, size};
    int rc = window_check_put(w, from, size, to, offset, why);

    if (rc > 0)
        rc = stage_open(b, driver, from, size, why);
    if (rc <= 0)
        return rc;
    rc = gpu_buffer_read(b, &all, 1, why);
    if (rc)
        gpu_buffer_close(b);
    return rc ? rc : 1;
}

int window_stage_put(const struct cuda_driver *driver, struct window *w, const void *from,
                     size_t size, int to, size_t offset, struct request **out, struct fault *why)
{
    struct gpu_buffer b;
    int rc = stage_open_put(&b, driver, w, from, size, to, offset, why);

    if (rc < 0)
        return rc;
    if (rc == 0)
        return out ? window_start_put(w, from, size, to, offset, out, why)
                   : window_put(w, from, size, to, offset, why);
    rc = window_put(w, b.bounce.memory, size, to, offset, why);
    gpu_buffer_close(&b);
    return rc;
}

int window_stage_put_signal(const struct cuda_driver *driver, struct window *w, const void *from,
                            size_t size, int to, size_t offset, size_t signal_offset, uint64_t add,
                            struct fault *why)
{
    struct gpu_buffer b;
    int rc = stage_open_put(&b, driver, w, from, size, to, offset, why);

    if (rc < 0)
        return rc;
    if (rc == 0)
        return window_put_signal(w, from, size, to, offset, signal_offset, add, why);
    rc = window_put_signal(w, b.bounce.memory, size, to, offset, signal_offset, add, why);
    gpu_buffer_close(&b);
    return rc;
}

int window_stage_get(const struct cuda_driver *driver, struct window *w, void *into, size_t size,
                     int from, size_t offset, struct request **out, struct fault *why)
{
    struct gpu_span all = {0, size};
    struct gpu_buffer b;
    int rc = window_check_get(w, into, size, from, offset, why);

    if (rc > 0)
        rc = stage_open(&b, driver, into, size, why);
    if (rc < 0)
        return rc;
    if (rc == 0)
        return out ? window_start_get(w, into, size, from, offset, out, why)
                   : window_get(w, into, size, from, offset, why);
    rc = window_get(w, b.bounce.memory, size, from, offset, why);
    if (!rc)
        rc = gpu_buffer_write(&b, &all, 1, why);
    gpu_buffer_close(&b);
    return rc;
}

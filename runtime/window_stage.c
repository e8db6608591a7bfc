/* SPDX-License-Identifier: MIT */
#include "runtime/window_stage.h"

#include "runtime/call/progress.h"
#include "runtime/call/task_stage.h"

#include <stdlib.h>

/* --- the buffer ------------------------------------------------------------------------------- */

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

/* --- what is started -------------------------------------------------------------------------- */

/* The stage belongs to the request once there is one, which closes its buffers and frees it. */
static struct task_stage *stage_create(struct fault *why)
{
    struct task_stage *stage = calloc(1, sizeof(*stage));

    if (!stage)
        fault_set(why, ML_ERR_MEMORY, "out of memory");
    return stage;
}

static void stage_destroy(struct task_stage *stage)
{
    task_stage_drop(stage);
    free(stage);
}

static int stage_start_put(const struct cuda_driver *driver, struct window *w, const void *from,
                           size_t size, int to, size_t offset, struct request **out,
                           struct fault *why)
{
    struct task_stage *stage = stage_create(why);
    int rc = stage ? stage_open_put(&stage->in, driver, w, from, size, to, offset, why) : why->code;

    if (rc > 0)
        from = stage->in.bounce.memory;
    if (rc >= 0)
        rc = window_start_put(w, from, size, to, offset, out, why);
    if (!rc && *out)
        (*out)->task.stage = stage;
    else if (stage)
        stage_destroy(stage);
    return rc;
}

static void stage_end_get(struct request *r)
{
    struct gpu_span all = {0, r->task.count};

    gpu_buffer_write(&r->task.stage->out, &all, 1, &r->result);
}

static int stage_start_get(const struct cuda_driver *driver, struct window *w, void *into,
                           size_t size, int from, size_t offset, struct request **out,
                           struct fault *why)
{
    struct task_stage *stage = stage_create(why);
    struct gpu_span all = {0, size};
    int rc = stage ? window_check_get(w, into, size, from, offset, why) : why->code;
    bool is_staged;

    if (rc > 0)
        rc = stage_open(&stage->out, driver, into, size, why);
    is_staged = rc > 0;
    if (is_staged)
        into = stage->out.bounce.memory;
    if (rc >= 0)
        rc = window_start_get(w, into, size, from, offset, out, why);
    if (!rc && *out) {
        (*out)->task.stage = stage;
        (*out)->task.count = size;
        (*out)->finish = is_staged ? stage_end_get : NULL;
        return 0;
    }
    if (!rc && is_staged)
        rc = gpu_buffer_write(&stage->out, &all, 1, why);
    if (stage)
        stage_destroy(stage);
    return rc;
}

/* --- the calls -------------------------------------------------------------------------------- */

int window_stage_put(const struct cuda_driver *driver, struct window *w, const void *from,
                     size_t size, int to, size_t offset, struct request **out, struct fault *why)
{
    struct gpu_buffer b = {0};
    int rc;

    if (out)
        return stage_start_put(driver, w, from, size, to, offset, out, why);
    rc = stage_open_put(&b, driver, w, from, size, to, offset, why);
    if (rc < 0)
        return rc;
    rc = window_put(w, rc ? b.bounce.memory : from, size, to, offset, why);
    gpu_buffer_close(&b);
    return rc;
}

int window_stage_put_signal(const struct cuda_driver *driver, struct window *w, const void *from,
                            size_t size, int to, size_t offset, size_t signal_offset, uint64_t add,
                            struct fault *why)
{
    struct gpu_buffer b = {0};
    int rc = stage_open_put(&b, driver, w, from, size, to, offset, why);

    if (rc < 0)
        return rc;
    rc = window_put_signal(w, rc ? b.bounce.memory : from, size, to, offset, signal_offset, add,
                           why);
    gpu_buffer_close(&b);
    return rc;
}

int window_stage_get(const struct cuda_driver *driver, struct window *w, void *into, size_t size,
                     int from, size_t offset, struct request **out, struct fault *why)
{
    struct gpu_span all = {0, size};
    struct gpu_buffer b = {0};
    int rc;

    if (out)
        return stage_start_get(driver, w, into, size, from, offset, out, why);
    rc = window_check_get(w, into, size, from, offset, why);
    if (rc > 0)
        rc = stage_open(&b, driver, into, size, why);
    if (rc < 0)
        return rc;
    if (rc == 0)
        return window_get(w, into, size, from, offset, why);
    rc = window_get(w, b.bounce.memory, size, from, offset, why);
    if (!rc)
        rc = gpu_buffer_write(&b, &all, 1, why);
    gpu_buffer_close(&b);
    return rc;
}

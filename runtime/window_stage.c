/* SPDX-License-Identifier: MIT */
#include "runtime/window_stage.h"

#include "runtime/call/progress.h"
#include "runtime/call/task_stage.h"
#include "runtime/gpu/gpu_range.h"
#include "runtime/gpu/gpu_way.h"
#include "runtime/window/window_device.h"

#include <stdlib.h>

/* --- the buffer ------------------------------------------------------------------------------- */

/* True if the RDMA devices reach these bytes of GPU memory themselves. Which way it is, or why
 * there is none, is told. */
static bool stage_is_direct(const struct gpu_memory *memory, const struct window *w, const void *at,
                            size_t size, int peer)
{
    const int *ranks = w->group->members;
    bool by_dmabuf = false;
    struct fault why = {0};
    bool is_direct = gpu_range_offer(memory, at, size, &why) &&
                     window_device_reaches(w, peer, at, size, &by_dmabuf, &why);

    if (is_direct)
        gpu_way_tell(ranks[w->group->rank], ranks[peer],
                     by_dmabuf ? GPU_WAY_DMABUF : GPU_WAY_PEERMEM, NULL);
    else if (why.code)
        gpu_way_tell(ranks[w->group->rank], ranks[peer], GPU_WAY_REFUSED, &why);
    return is_direct;
}

/* 1: `at` is memory of a GPU, and *b is open. 0: it is not, or there is nothing to copy. */
static int stage_open(struct gpu_buffer *b, struct stage_gpu gpu, struct window *w, const void *at,
                      size_t size, int peer, struct fault *why)
{
    struct gpu_memory memory;
    int rc = gpu_memory_open(&memory, gpu.driver, at, why);

    if (rc <= 0)
        return rc;
    if ((w->gpu && peer == w->group->rank) ||
        (window_device_has(w, peer) && stage_is_direct(&memory, w, at, size, peer)))
        rc = gpu_buffer_open_direct(b, &memory, at, gpu.stream, why);
    else
        rc = gpu_buffer_open(b, &memory, at, size, gpu.stream, why);
    return rc ? rc : 1;
}

/* The same, and what is to be put is in the buffer's host memory. */
static int stage_open_put(struct gpu_buffer *b, struct stage_gpu gpu, struct window *w,
                          const void *from, size_t size, int to, size_t offset, struct fault *why)
{
    struct gpu_span all = {0, size};
    int rc = window_check_put(w, from, size, to, offset, why);

    if (rc > 0)
        rc = stage_open(b, gpu, w, from, size, to, why);
    if (rc <= 0)
        return rc;
    rc = gpu_buffer_read(b, &all, 1, why);
    if (rc)
        gpu_buffer_close(b);
    return rc ? rc : 1;
}

/* --- parts on a GPU of this host -------------------------------------------------------------- */

/* 1: the bytes went between `local` and the part of rank `rank` by CUDA IPC. 0: they have to go
 * another way, for a reason that is told; if the part can't be opened, so have all later ones. */
static int stage_near(struct stage_gpu gpu, struct window *w, const void *local, size_t size,
                      int rank, size_t offset, bool puts, struct fault *why)
{
    struct window_part *part = &w->parts[rank];
    struct gpu_ipc_place place = part->place;
    const int *ranks = w->group->members;
    struct fault reason = {0};
    struct gpu_memory memory;
    bool is_done, is_here;
    int rc;

    if (!atomic_load(&part->is_open))
        return 0;
    rc = gpu_memory_open(&memory, gpu.driver, local, why);
    if (rc < 0)
        return rc;
    is_here = rc > 0;
    rc = is_here ? gpu_memory_wait(&memory, gpu.stream, why) : 0;
    if (!is_here && !gpu_memory_here(&memory, gpu.driver)) {
        fault_set(&reason, ML_ERR_DEVICE, "the calling thread has no CUDA context");
        gpu_way_tell(ranks[w->group->rank], ranks[rank], GPU_WAY_STAGED, &reason);
        return 0;
    }
    place.offset += offset;
    is_done = !rc && (puts ? gpu_ipc_put(&memory, local, part->giver, &place, size, &reason)
                           : gpu_ipc_copy(&memory, (void *)(uintptr_t)local, part->giver, &place,
                                          size, &reason));
    if (is_here)
        gpu_memory_close(&memory);
    if (rc)
        return rc;
    if (!is_done)
        atomic_store(&part->is_open, false);
    gpu_way_tell(ranks[w->group->rank], ranks[rank], is_done ? GPU_WAY_IPC : GPU_WAY_STAGED,
                 &reason);
    return is_done;
}

static int stage_put_near(struct stage_gpu gpu, struct window *w, const void *from, size_t size,
                          int to, size_t offset, struct fault *why)
{
    int rc = window_check_put(w, from, size, to, offset, why);

    return rc > 0 ? stage_near(gpu, w, from, size, to, offset, true, why) : rc;
}

static int stage_get_near(struct stage_gpu gpu, struct window *w, void *into, size_t size, int from,
                          size_t offset, struct fault *why)
{
    int rc = window_check_get(w, into, size, from, offset, why);

    return rc > 0 ? stage_near(gpu, w, into, size, from, offset, false, why) : rc;
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

static int stage_start_put(struct stage_gpu gpu, struct window *w, const void *from, size_t size,
                           int to, size_t offset, struct request **out, struct fault *why)
{
    struct task_stage *stage = stage_create(why);
    int rc = stage ? stage_open_put(&stage->in, gpu, w, from, size, to, offset, why) : why->code;

    if (rc > 0)
        from = gpu_buffer_place(&stage->in);
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

static int stage_start_get(struct stage_gpu gpu, struct window *w, void *into, size_t size,
                           int from, size_t offset, struct request **out, struct fault *why)
{
    struct task_stage *stage = stage_create(why);
    struct gpu_span all = {0, size};
    int rc = stage ? window_check_get(w, into, size, from, offset, why) : why->code;
    bool is_staged;

    if (rc > 0)
        rc = stage_open(&stage->out, gpu, w, into, size, from, why);
    is_staged = rc > 0;
    if (is_staged)
        into = gpu_buffer_place(&stage->out);
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

int window_stage_put(struct stage_gpu gpu, struct window *w, const void *from, size_t size, int to,
                     size_t offset, struct request **out, struct fault *why)
{
    struct gpu_buffer b = {0};
    int rc = stage_put_near(gpu, w, from, size, to, offset, why);

    if (rc)
        return rc < 0 ? rc : 0;
    if (out)
        return stage_start_put(gpu, w, from, size, to, offset, out, why);
    rc = stage_open_put(&b, gpu, w, from, size, to, offset, why);
    if (rc < 0)
        return rc;
    rc = window_put(w, rc ? gpu_buffer_place(&b) : from, size, to, offset, why);
    gpu_buffer_close(&b);
    return rc;
}

int window_stage_put_signal(struct stage_gpu gpu, struct window *w, const void *from, size_t size,
                            int to, size_t offset, size_t signal_offset, uint64_t add,
                            struct fault *why)
{
    struct gpu_buffer b = {0};
    int rc = window_check_put(w, from, size, to, offset, why);

    if (rc >= 0)
        rc = window_check_number(w, to, signal_offset, "to", why);
    if (!rc)
        rc = stage_put_near(gpu, w, from, size, to, offset, why);
    if (rc > 0)
        return window_put_signal(w, NULL, 0, to, 0, signal_offset, add, why);
    if (!rc)
        rc = stage_open_put(&b, gpu, w, from, size, to, offset, why);
    if (rc < 0)
        return rc;
    rc = window_put_signal(w, rc ? gpu_buffer_place(&b) : from, size, to, offset, signal_offset,
                           add, why);
    gpu_buffer_close(&b);
    return rc;
}

int window_stage_get(struct stage_gpu gpu, struct window *w, void *into, size_t size, int from,
                     size_t offset, struct request **out, struct fault *why)
{
    struct gpu_span all = {0, size};
    struct gpu_buffer b = {0};
    int rc = stage_get_near(gpu, w, into, size, from, offset, why);

    if (rc)
        return rc < 0 ? rc : 0;
    if (out)
        return stage_start_get(gpu, w, into, size, from, offset, out, why);
    rc = window_check_get(w, into, size, from, offset, why);
    if (rc > 0)
        rc = stage_open(&b, gpu, w, into, size, from, why);
    if (rc < 0)
        return rc;
    if (rc == 0)
        return window_get(w, into, size, from, offset, why);
    rc = window_get(w, gpu_buffer_place(&b), size, from, offset, why);
    if (!rc)
        rc = gpu_buffer_write(&b, &all, 1, why);
    gpu_buffer_close(&b);
    return rc;
}

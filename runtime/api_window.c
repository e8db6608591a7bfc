/* SPDX-License-Identifier: MIT */
#include "runtime/api_window.h"

#include "runtime/api_group.h"
#include "runtime/api_last.h"
#include "runtime/call/call.h"
#include "runtime/call/check.h"
#include "runtime/call/progress.h"
#include "runtime/gpu/gpu_part.h"
#include "runtime/window/window_call.h"
#include "runtime/window_stage.h"
#include "runtime/world/window_join.h"

static struct window *window_of(ml_window *w)
{
    return (struct window *)w;
}

int api_window_create(ml_group *handle, void *memory, size_t size, ml_window **out)
{
    struct group *g = api_group_of(handle);
    struct window *made = NULL;
    struct gpu_part *gpu = NULL;
    char who[GROUP_MEMBER_TEXT];
    void *stream;
    int rc = check_enter(g, "window_create", &api_last);

    if (rc)
        return rc;
    stream = atomic_exchange(&g->next.stream, NULL);
    rc = out ? window_check_memory(cuda_driver_now(), stream, memory, size, &gpu, &api_last)
             : fault_set(&api_last, ML_ERR_ARGUMENT, "out is NULL");
    if (rc && rc != ML_ERR_DEVICE && rc != ML_ERR_MEMORY) {
        group_release(g);
        return rc;
    }
    progress_settle(g);
    if (rc) { /* the others wait in this call for a rank that will not come */
        fault_wrap(&api_last, "%s: %s", group_describe(g, g->rank, who), "window_create");
        call_fail(g, &api_last);
    } else {
        rc = call_begin(g, CALL_WINDOW, "window_create", 0, 0, 0, -1, &api_last);
    }
    if (rc)
        gpu_part_close(gpu);
    else
        rc = window_join_create(&made, g, memory, size, gpu, &api_last);
    group_release(g);
    if (!rc)
        *out = (ml_window *)made;
    return rc;
}

int api_window_free(ml_window *handle)
{
    struct window *w = window_of(handle);
    int rc = check_no_operator(&api_last);

    if (rc)
        return rc;
    rc = w ? window_check(w, &api_last) : 0;
    return window_is_usable(w) ? window_join_free(w, &api_last) : rc;
}

void *api_window_memory(ml_window *handle, int rank, size_t *size)
{
    struct window *w = window_of(handle);

    window_check(w, &api_last);
    if (!window_is_usable(w) || check_rank(w->group, rank, "rank", &api_last) != 0)
        return NULL;
    if (size)
        *size = w->parts[rank].size;
    return w->parts[rank].memory;
}

/* Many threads use a window, so a name is that of the thread that gives it. */
static _Thread_local struct {
    const ml_window *window;
    void *stream;
} next_stream;

int api_window_next_stream(ml_window *w, void *stream)
{
    int rc = window_check(window_of(w), &api_last);

    if (rc || !cuda_driver_now())
        return rc;
    next_stream.window = w;
    next_stream.stream = cuda_stream_handle(stream);
    return 0;
}

static struct stage_gpu window_gpu(const struct cuda_driver *driver, const ml_window *w)
{
    struct stage_gpu gpu = {.driver = driver};

    if (next_stream.window == w) {
        gpu.stream = next_stream.stream;
        next_stream.window = NULL;
    }
    return gpu;
}

int api_window_put(ml_window *w, const void *from, size_t size, int to, size_t offset)
{
    const struct cuda_driver *driver = cuda_driver_now();

    if (__builtin_expect(driver != NULL, 0))
        return window_stage_put(window_gpu(driver, w), window_of(w), from, size, to, offset, NULL,
                                &api_last);
    return window_put(window_of(w), from, size, to, offset, &api_last);
}

int api_window_get(ml_window *w, void *into, size_t size, int from, size_t offset)
{
    const struct cuda_driver *driver = cuda_driver_now();

    if (__builtin_expect(driver != NULL, 0))
        return window_stage_get(window_gpu(driver, w), window_of(w), into, size, from, offset, NULL,
                                &api_last);
    return window_get(window_of(w), into, size, from, offset, &api_last);
}

int api_window_start_put(ml_window *w, const void *from, size_t size, int to, size_t offset,
                         ml_request **request)
{
    const struct cuda_driver *driver = cuda_driver_now();
    struct request **made = (struct request **)request;

    if (!request)
        return fault_set(&api_last, ML_ERR_ARGUMENT, "request is NULL");
    *request = NULL;
    if (driver)
        return window_stage_put(window_gpu(driver, w), window_of(w), from, size, to, offset, made,
                                &api_last);
    return window_start_put(window_of(w), from, size, to, offset, made, &api_last);
}

int api_window_start_get(ml_window *w, void *into, size_t size, int from, size_t offset,
                         ml_request **request)
{
    const struct cuda_driver *driver = cuda_driver_now();
    struct request **made = (struct request **)request;

    if (!request)
        return fault_set(&api_last, ML_ERR_ARGUMENT, "request is NULL");
    *request = NULL;
    if (driver)
        return window_stage_get(window_gpu(driver, w), window_of(w), into, size, from, offset, made,
                                &api_last);
    return window_start_get(window_of(w), into, size, from, offset, made, &api_last);
}

int api_window_put_signal(ml_window *w, const void *from, size_t size, int to, size_t offset,
                          size_t signal_offset, uint64_t add)
{
    const struct cuda_driver *driver = cuda_driver_now();

    if (__builtin_expect(driver != NULL, 0))
        return window_stage_put_signal(window_gpu(driver, w), window_of(w), from, size, to, offset,
                                       signal_offset, add, &api_last);
    return window_put_signal(window_of(w), from, size, to, offset, signal_offset, add, &api_last);
}

int api_window_wait_signal(ml_window *w, size_t signal_offset, uint64_t at_least, int timeout_ms)
{
    return window_wait_signal(window_of(w), signal_offset, at_least, timeout_ms, &api_last);
}

int api_window_flush(ml_window *w, int to)
{
    return window_flush(window_of(w), to, &api_last);
}

int api_window_fetch_add(ml_window *w, int at, size_t offset, uint64_t add, uint64_t *old)
{
    return window_fetch_add(window_of(w), at, offset, add, old, &api_last);
}

int api_window_compare_swap(ml_window *w, int at, size_t offset, uint64_t expected, uint64_t wanted,
                            uint64_t *old)
{
    return window_compare_swap(window_of(w), at, offset, expected, wanted, old, &api_last);
}

/* SPDX-License-Identifier: MIT */
#include "runtime/gpu/gpu_memory.h"

bool gpu_memory_here(struct gpu_memory *out, const struct cuda_driver *driver)
{
    *out = (struct gpu_memory){.driver = driver};
    return driver->context_current(&out->context) == CUDA_IS_DONE && out->context &&
           driver->context_device(&out->device) == CUDA_IS_DONE;
}

/* Memory of pools and of cuMemMap belongs to a device, and to no context. */
static int memory_find_context(struct gpu_memory *m, struct fault *why)
{
    struct gpu_memory here;
    int result;

    if (gpu_memory_here(&here, m->driver) && here.device == m->device) {
        m->context = here.context;
        return 0;
    }
    result = m->driver->primary_retain(&m->context, m->device);
    if (result != CUDA_IS_DONE)
        return cuda_driver_fault(
            why, result, "cannot use the primary context of GPU %d: cuDevicePrimaryCtxRetain",
            m->device);
    m->is_retained = true;
    return 0;
}

int gpu_memory_open(struct gpu_memory *out, const struct cuda_driver *driver, const void *at,
                    struct fault *why)
{
    static const int attributes[] = {CUDA_POINTER_CONTEXT, CUDA_POINTER_MEMORY_TYPE,
                                     CUDA_POINTER_IS_MANAGED, CUDA_POINTER_DEVICE_ORDINAL};
    struct gpu_memory m = {.driver = driver};
    unsigned type = 0, is_managed = 0;
    void *data[] = {&m.context, &type, &is_managed, &m.device};
    int rc, result = driver->pointer_attributes(sizeof(attributes) / sizeof(attributes[0]),
                                                attributes, data, (uintptr_t)at);

    /* Before cuInit, and while the process ends, there is no GPU memory. A driver that can't tell
     * without a context, or knows no such address, has not allocated it. */
    if (result == CUDA_NOT_INITIALIZED || result == CUDA_DEINITIALIZED ||
        result == CUDA_INVALID_CONTEXT || result == CUDA_INVALID_VALUE)
        return 0;
    if (result != CUDA_IS_DONE)
        return cuda_driver_fault(why, result,
                                 "cannot tell which memory %p is in: cuPointerGetAttributes", at);
    if (type != CUDA_MEMORY_DEVICE && !is_managed)
        return 0;
    m.is_managed = is_managed != 0;
    rc = m.context ? 0 : memory_find_context(&m, why);
    if (rc)
        return rc;
    *out = m;
    return 1;
}

void gpu_memory_close(const struct gpu_memory *m)
{
    if (m->is_retained)
        m->driver->primary_release(m->device);
}

uint64_t gpu_memory_id(const struct cuda_driver *driver, const void *at)
{
    static const int attribute = CUDA_POINTER_BUFFER_ID;
    unsigned long long id = 0;
    void *data = &id;

    return driver->pointer_attributes(1, &attribute, &data, (uintptr_t)at) == CUDA_IS_DONE ? id : 0;
}

/* The mode of captures that the thread had, and how many gpu_memory_enter have no leave yet. */
static _Thread_local int mode_before, entered;

static void memory_exchange_mode(const struct cuda_driver *driver, int *mode)
{
    if (driver->exchange_capture_mode)
        driver->exchange_capture_mode(mode);
}

int gpu_memory_enter(const struct gpu_memory *m, struct fault *why)
{
    int result = m->driver->context_push(m->context);

    if (result == CUDA_IS_DONE) {
        if (entered++ == 0) {
            mode_before = CUDA_CAPTURE_RELAXED;
            memory_exchange_mode(m->driver, &mode_before);
        }
        return 0;
    }
    return cuda_driver_fault(why, result, "cannot use the context of GPU %d: cuCtxPushCurrent",
                             m->device);
}

void gpu_memory_leave(const struct gpu_memory *m)
{
    void *left;

    if (--entered == 0)
        memory_exchange_mode(m->driver, &mode_before);
    m->driver->context_pop(&left);
}

static int memory_refuse_capture(struct fault *why)
{
    return fault_set(why, ML_ERR_ARGUMENT,
                     "a CUDA stream is being captured, and a graph can't hold this call: make it "
                     "before the capture begins or after it has ended");
}

static bool memory_is_capture(int result)
{
    return result >= CUDA_CAPTURE_FIRST && result <= CUDA_CAPTURE_LAST;
}

/* Asked first, because to wait for a stream that is captured would end the capture. */
static int memory_wait_stream(const struct gpu_memory *m, void *stream)
{
    int status = CUDA_CAPTURE_NONE;
    int result = m->driver->stream_capturing(stream, &status);

    if (result != CUDA_IS_DONE)
        return result;
    return status == CUDA_CAPTURE_NONE ? m->driver->stream_synchronize(stream) : CUDA_CAPTURE_FIRST;
}

int gpu_memory_wait(const struct gpu_memory *m, void *stream, struct fault *why)
{
    int result, rc = gpu_memory_enter(m, why);

    if (rc)
        return rc;
    result = stream ? memory_wait_stream(m, stream) : m->driver->context_synchronize();
    gpu_memory_leave(m);
    if (result == CUDA_IS_DONE)
        return 0;
    if (memory_is_capture(result))
        return memory_refuse_capture(why);
    return cuda_driver_fault(why, result,
                             "work that the program gave GPU %d before the call has failed: %s",
                             m->device, stream ? "cuStreamSynchronize" : "cuCtxSynchronize");
}

bool gpu_memory_must_settle(const struct gpu_memory *m)
{
    int ordering = 0;

    if (!m->driver->flush_writes)
        return false;
    return m->driver->device_attribute(&ordering, CUDA_DEVICE_WRITES_ORDERING, m->device) !=
               CUDA_IS_DONE ||
           ordering < CUDA_FLUSH_FOR_OWNER;
}

int gpu_memory_settle(const struct gpu_memory *m, struct fault *why)
{
    bool must_settle = gpu_memory_must_settle(m);
    int result, rc = must_settle ? gpu_memory_enter(m, why) : 0;

    if (rc || !must_settle)
        return rc;
    result = m->driver->flush_writes(CUDA_FLUSH_CONTEXT, CUDA_FLUSH_FOR_OWNER);
    gpu_memory_leave(m);
    /* Some devices need none. */
    if (result == CUDA_IS_DONE || result == CUDA_NOT_SUPPORTED)
        return 0;
    return cuda_driver_fault(why, result,
                             "cannot wait for what was written to GPU %d: "
                             "cuFlushGPUDirectRDMAWrites",
                             m->device);
}

/* SPDX-License-Identifier: MIT */
/*
 * cuda_driver.h: NVIDIA's driver API, libcuda.so.1, once the program has loaded it. We never load
 * it: a process without it has no GPU memory to pass. Nothing of NVIDIA's is needed to build.
 */
#ifndef RUNTIME_GPU_CUDA_DRIVER_H
#define RUNTIME_GPU_CUDA_DRIVER_H

#include "common/fault.h"

#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Results, flags, handles and attributes of cuda.h, where CUresult and CUdevice are ints,
 * CUdeviceptr has 64 bits, and CUcontext and CUstream are pointers. */
enum cuda_value {
    CUDA_IS_DONE = 0,
    CUDA_INVALID_VALUE = 1,
    CUDA_NOT_INITIALIZED = 3,
    CUDA_DEINITIALIZED = 4,
    CUDA_INVALID_CONTEXT = 201,
    CUDA_NOT_SUPPORTED = 801,
    CUDA_CAPTURE_FIRST = 900, /* results of calls that a stream's capture forbids */
    CUDA_CAPTURE_LAST = 908,
    CUDA_STREAM_LEGACY = 1,       /* the default stream, as a handle */
    CUDA_STREAM_NON_BLOCKING = 1, /* does not wait for the default stream */
    CUDA_CAPTURE_NONE = 0,
    CUDA_CAPTURE_RELAXED = 2, /* a CU_STREAM_CAPTURE_MODE */
    CUDA_HOST_PORTABLE = 1,   /* registers host memory for all contexts */
    CUDA_MEMORY_DEVICE = 2,   /* a CU_POINTER_ATTRIBUTE_MEMORY_TYPE */
    CUDA_POINTER_CONTEXT = 1,
    CUDA_POINTER_MEMORY_TYPE = 2,
    CUDA_POINTER_SYNC_MEMOPS = 6,
    CUDA_POINTER_BUFFER_ID = 7,
    CUDA_POINTER_IS_MANAGED = 8,
    CUDA_POINTER_DEVICE_ORDINAL = 9,
    CUDA_RANGE_DMABUF = 1,             /* a CUmemRangeHandleType */
    CUDA_IPC_PEERS = 1,                /* a mapping for other GPUs, too */
    CUDA_FLUSH_CONTEXT = 0,            /* writes by RDMA to the current context's device … */
    CUDA_FLUSH_FOR_OWNER = 100,        /* … are seen by work on that device */
    CUDA_DEVICE_WRITES_ORDERING = 118, /* for whom that holds without a flush: from 100 on */
};

/* A stream of the program as a handle that is not NULL: the default stream has two names. */
static inline void *cuda_stream_handle(void *stream)
{
    return stream ? stream : (void *)(uintptr_t)CUDA_STREAM_LEGACY;
}

/* A CUipcMemHandle. */
struct cuda_ipc_handle {
    unsigned char bytes[64];
};

/* The functions that we use, as cuda.h declares them. */
struct cuda_driver {
    int (*pointer_attributes)(unsigned count, const int *attributes, void **data, uint64_t pointer);
    int (*pointer_set)(const void *value, int attribute, uint64_t pointer);
    int (*memory_range)(uint64_t *base, size_t *size, uint64_t pointer);
    /* NULL: before CUDA 11.7 */
    int (*memory_handle)(void *handle, uint64_t base, size_t size, int type,
                         unsigned long long flags);
    int (*flush_writes)(int target, int scope); /* NULL: before CUDA 11.3 */
    int (*device_attribute)(int *value, int attribute, int device);
    int (*context_push)(void *context);
    int (*context_pop)(void **context);
    int (*context_current)(void **context);
    int (*context_device)(int *device);
    int (*context_id)(void *context, unsigned long long *id); /* NULL: before CUDA 12 */
    int (*context_synchronize)(void);
    int (*ipc_give)(struct cuda_ipc_handle *handle, uint64_t base);
    int (*ipc_open)(uint64_t *at, struct cuda_ipc_handle handle, unsigned flags);
    int (*ipc_close)(uint64_t at);
    int (*primary_state)(int device, unsigned *flags, int *is_active);
    int (*primary_retain)(void **context, int device);
    int (*primary_release)(int device);
    int (*stream_create)(void **stream, unsigned flags);
    int (*stream_destroy)(void *stream);
    int (*stream_capturing)(void *stream, int *status);
    int (*stream_synchronize)(void *stream);
    int (*exchange_capture_mode)(int *mode); /* the thread's; NULL: before CUDA 10.1 */
    int (*copy)(uint64_t to, uint64_t from, size_t size, void *stream);
    int (*host_register)(void *memory, size_t size, unsigned flags);
    int (*host_unregister)(void *memory);
    int (*error_name)(int result, const char **text);
    int (*error_text)(int result, const char **text);
};

/* Our own place in the loader's list, while the driver was not there when we looked last; else
 * NULL. */
extern const struct link_map *_Atomic cuda_driver_place;

/* The driver, or NULL: the program has not loaded it, or it is older than CUDA 10. */
const struct cuda_driver *cuda_driver_find(void);

/* The same, for every call: what is loaded comes behind us in the loader's list, so while nothing
 * does, nobody needs to look. */
static inline const struct cuda_driver *cuda_driver_now(void)
{
    const struct link_map *place = atomic_load_explicit(&cuda_driver_place, memory_order_acquire);

    if (__builtin_expect(place && !__atomic_load_n(&place->l_next, __ATOMIC_RELAXED), 1))
        return NULL;
    return cuda_driver_find();
}

/* Sets ML_ERR_DEVICE and the sentence, with ": " and the driver's name and text for `result`
 * appended. */
int cuda_driver_fault(struct fault *why, int result, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif

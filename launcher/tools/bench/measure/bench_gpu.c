/* SPDX-License-Identifier: MIT */
#include "launcher/tools/bench/measure/bench_gpu.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

/* The driver's functions, as cuda.h declares them; CUresult is an int. */
static struct {
    int (*init)(unsigned flags);
    int (*count)(int *count);
    int (*retain)(void **context, int device);
    int (*set_current)(void *context);
    int (*alloc)(uint64_t *out, size_t size);
    int (*free)(uint64_t at);
    int (*copy)(uint64_t to, uint64_t from, size_t size, void *stream);
    int (*synchronize)(void *stream);
    int (*error_text)(int result, const char **text);
} cuda;
static bool is_open;

static const struct {
    const char *name;
    void *to;
} names[] = {{"cuInit", &cuda.init},
             {"cuDeviceGetCount", &cuda.count},
             {"cuDevicePrimaryCtxRetain", &cuda.retain},
             {"cuCtxSetCurrent", &cuda.set_current},
             {"cuMemAlloc_v2", &cuda.alloc},
             {"cuMemFree_v2", &cuda.free},
             {"cuMemcpyAsync", &cuda.copy},
             {"cuStreamSynchronize", &cuda.synchronize},
             {"cuGetErrorString", &cuda.error_text}};

static int gpu_fail(const char *what, int result, struct fault *why)
{
    const char *text = NULL;

    cuda.error_text(result, &text);
    return fault_set(why, ML_ERR_DEVICE, "%s: %s (%d)", what, text ? text : "unknown error",
                     result);
}

static int driver_load(struct fault *why)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW);

    if (!library)
        return fault_set(why, ML_ERR_DEVICE, "--memory cuda needs NVIDIA's driver on each host: %s",
                         dlerror());
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        void *symbol = dlsym(library, names[i].name);

        if (!symbol)
            return fault_set(why, ML_ERR_DEVICE, "NVIDIA's driver is too old: %s", dlerror());
        *(void **)names[i].to = symbol;
    }
    return 0;
}

static int gpu_open(struct fault *why)
{
    const char *local = getenv("MLAUNCH_LOCAL_RANK");
    int count = 0, result, rc = driver_load(why);
    void *context;

    if (rc)
        return rc;
    result = cuda.init(0);
    if (!result)
        result = cuda.count(&count);
    if (result)
        return gpu_fail("cannot use NVIDIA's driver", result, why);
    if (count < 1)
        return fault_set(why, ML_ERR_DEVICE, "this host has no GPU that the rank may use");
    result = cuda.retain(&context, local ? abs(atoi(local)) % count : 0);
    if (!result)
        result = cuda.set_current(context);
    if (result)
        return gpu_fail("cannot use a GPU", result, why);
    is_open = true;
    return 0;
}

int bench_gpu_alloc(unsigned char **out, size_t size, struct fault *why)
{
    int rc = is_open ? 0 : gpu_open(why), result;
    uint64_t at;

    if (rc)
        return rc;
    result = cuda.alloc(&at, size);
    if (result)
        return gpu_fail("cannot allocate memory on the GPU", result, why);
    *out = (unsigned char *)(uintptr_t)at;
    return 0;
}

void bench_gpu_free(unsigned char *memory)
{
    if (memory)
        cuda.free((uintptr_t)memory);
}

int bench_gpu_copy(unsigned char *to, const unsigned char *from, size_t size, struct fault *why)
{
    int result = size ? cuda.copy((uintptr_t)to, (uintptr_t)from, size, NULL) : 0;

    if (!result)
        result = cuda.synchronize(NULL);
    return result ? gpu_fail("cannot copy between the host and the GPU", result, why) : 0;
}

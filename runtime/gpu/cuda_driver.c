/* SPDX-License-Identifier: MIT */
#include "runtime/gpu/cuda_driver.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define CUDA_LIBRARY "libcuda.so.1"

static struct cuda_driver driver;
static const struct cuda_driver *_Atomic driver_found;
static pthread_mutex_t driver_lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic unsigned long long driver_loads; /* libraries loaded when we looked last */

const struct link_map *_Atomic cuda_driver_place;

static const struct {
    const char *name;
    size_t at; /* where struct cuda_driver has it */
    bool is_optional;
} driver_names[] = {
    {"cuPointerGetAttributes", offsetof(struct cuda_driver, pointer_attributes), false},
    {"cuPointerSetAttribute", offsetof(struct cuda_driver, pointer_set), false},
    {"cuMemGetAddressRange_v2", offsetof(struct cuda_driver, memory_range), false},
    {"cuMemGetHandleForAddressRange", offsetof(struct cuda_driver, memory_handle), true},
    {"cuFlushGPUDirectRDMAWrites", offsetof(struct cuda_driver, flush_writes), true},
    {"cuDeviceGetAttribute", offsetof(struct cuda_driver, device_attribute), false},
    {"cuCtxPushCurrent_v2", offsetof(struct cuda_driver, context_push), false},
    {"cuCtxPopCurrent_v2", offsetof(struct cuda_driver, context_pop), false},
    {"cuCtxGetCurrent", offsetof(struct cuda_driver, context_current), false},
    {"cuCtxGetDevice", offsetof(struct cuda_driver, context_device), false},
    {"cuCtxGetId", offsetof(struct cuda_driver, context_id), true},
    {"cuCtxSynchronize", offsetof(struct cuda_driver, context_synchronize), false},
    {"cuIpcGetMemHandle", offsetof(struct cuda_driver, ipc_give), false},
    {"cuIpcOpenMemHandle_v2", offsetof(struct cuda_driver, ipc_open), true},
    {"cuIpcCloseMemHandle", offsetof(struct cuda_driver, ipc_close), false},
    {"cuDevicePrimaryCtxGetState", offsetof(struct cuda_driver, primary_state), false},
    {"cuDevicePrimaryCtxRetain", offsetof(struct cuda_driver, primary_retain), false},
    {"cuDevicePrimaryCtxRelease", offsetof(struct cuda_driver, primary_release), false},
    {"cuStreamCreate", offsetof(struct cuda_driver, stream_create), false},
    {"cuStreamDestroy_v2", offsetof(struct cuda_driver, stream_destroy), false},
    {"cuStreamIsCapturing", offsetof(struct cuda_driver, stream_capturing), false},
    {"cuStreamSynchronize", offsetof(struct cuda_driver, stream_synchronize), false},
    {"cuThreadExchangeStreamCaptureMode", offsetof(struct cuda_driver, exchange_capture_mode),
     true},
    {"cuMemcpyAsync", offsetof(struct cuda_driver, copy), false},
    {"cuMemHostRegister_v2", offsetof(struct cuda_driver, host_register), false},
    {"cuMemHostUnregister", offsetof(struct cuda_driver, host_unregister), false},
    {"cuGetErrorName", offsetof(struct cuda_driver, error_name), false},
    {"cuGetErrorString", offsetof(struct cuda_driver, error_text), false},
};

/* False: the driver is too old. */
static bool driver_fill(void *library)
{
    for (size_t i = 0; i < sizeof(driver_names) / sizeof(driver_names[0]); i++) {
        void *symbol = dlsym(library, driver_names[i].name);

        if (!symbol && !driver_names[i].is_optional)
            return false;
        *(void **)((char *)&driver + driver_names[i].at) = symbol;
    }
    return true;
}

static int driver_on_library(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)size;
    *(unsigned long long *)arg = info->dlpi_adds;
    return 1; /* all have the same number: the first is enough */
}

static unsigned long long driver_count_loads(void)
{
    unsigned long long loads = 0;

    dl_iterate_phdr(driver_on_library, &loads);
    return loads;
}

/* This object can't be unloaded, so its entry stays. Not dladdr1(), which musl has not. */
static const struct link_map *driver_own_place(void)
{
    struct link_map *place = NULL;
    Dl_info info;
    void *self = dladdr(&driver, &info) ? dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD) : NULL;

    if (!self)
        return NULL;
    if (dlinfo(self, RTLD_DI_LINKMAP, &place))
        place = NULL;
    dlclose(self);
    return place;
}

static int driver_on_name(struct dl_phdr_info *info, size_t size, void *arg)
{
    const char *slash = strrchr(info->dlpi_name, '/');
    const char *name = slash ? slash + 1 : info->dlpi_name;

    (void)size;
    *(bool *)arg = strncmp(name, "libcuda.so", strlen("libcuda.so")) == 0;
    return *(bool *)arg;
}

/* dlopen() looks through all directories of libraries for one that is not loaded, also with
 * RTLD_NOLOAD: some 200 system calls. */
static bool driver_is_loaded(void)
{
    bool is_loaded = false;

    dl_iterate_phdr(driver_on_name, &is_loaded);
    return is_loaded;
}

/* The reference that a successful dlopen() takes keeps the functions where they are. */
static void driver_look(unsigned long long loads)
{
    void *library = driver_is_loaded() ? dlopen(CUDA_LIBRARY, RTLD_LAZY | RTLD_NOLOAD) : NULL;

    if (library && driver_fill(library)) {
        atomic_store_explicit(&driver_found, &driver, memory_order_release);
        atomic_store_explicit(&cuda_driver_place, NULL, memory_order_relaxed);
        return;
    }
    if (library)
        dlclose(library);
    atomic_store_explicit(&driver_loads, loads, memory_order_release);
    atomic_store_explicit(&cuda_driver_place, driver_own_place(), memory_order_release);
}

const struct cuda_driver *cuda_driver_find(void)
{
    const struct cuda_driver *found = atomic_load_explicit(&driver_found, memory_order_acquire);
    unsigned long long loads;

    if (found)
        return found;
    /* Counted before the look: what is loaded meanwhile is looked for by the next call. */
    loads = driver_count_loads();
    if (loads == atomic_load_explicit(&driver_loads, memory_order_acquire))
        return NULL;
    pthread_mutex_lock(&driver_lock);
    found = atomic_load_explicit(&driver_found, memory_order_relaxed);
    if (!found)
        driver_look(loads);
    pthread_mutex_unlock(&driver_lock);
    return atomic_load_explicit(&driver_found, memory_order_acquire);
}

int cuda_driver_fault(struct fault *why, int result, const char *format, ...)
{
    const char *name = NULL, *text = NULL;
    char what[256];
    va_list args;

    va_start(args, format);
    vsnprintf(what, sizeof(what), format, args);
    va_end(args);
    driver.error_name(result, &name);
    driver.error_text(result, &text);
    return fault_set(why, ML_ERR_DEVICE, "%s: %s (%s)", what, name ? name : "an unknown error",
                     text ? text : "the driver has no text for it");
}

/* SPDX-License-Identifier: MIT */
/*
 * fake_cuda: a libcuda.so.1 without a GPU, harsher than a real one where that finds mistakes.
 *
 *   Memory   of its two devices, managed memory too, is PROT_NONE: a plain load or store ends the
 *            process. The fake reaches it at a second address.
 *   Streams  do nothing until they are waited for, so whoever does not wait sees old bytes. Each
 *            keeps its order; there is none between streams, the default stream included.
 *   Contexts are needed where the real driver needs one, in the thread that calls.
 *   Failures FAKE_CUDA_FAIL=NAME:N[:CODE] lets the N-th call of NAME (all from N on, for a negative
 *            one) that mlaunch's library makes fail with CODE, or 999. With CODE "die" the process
 *            ends there, with status 0.
 *   RDMA     A dma-buf is a file descriptor of the memory. FAKE_CUDA_DMABUF=no: the driver gives
 *            none, like one without open kernel modules. FAKE_CUDA_PEERMEM=1: devices may register
 *            the memory, for which it must be readable by the processor, too. What they write is
 *            seen by the GPU's work after cuFlushGPUDirectRDMAWrites only; or at once, with
 *            FAKE_CUDA_ORDERED=1. FAKE_CUDA_PINNED=1: they keep it when it is freed, as they
 *            keep pages that are pinned; without it they find no memory there then.
 *   IPC      The memory of another process is opened by the file that it lies in, once a process.
 *            Pools and managed memory have no handle. FAKE_CUDA_IPC=no: none can be opened, as
 *            between GPUs that do not reach each other.
 *   Leaks    fakeCudaCount says what is still there: "registrations", "streams", "retained", and
 *            "depth", the contexts that the calling thread has pushed; and "mode", its mode of
 *            captures, 0 if it is that of a new thread; "imports", what is open of other processes,
 *            and "exports", how often they have opened what is this process's. "copies" is how many
 *            were queued so far, "queued" how many are not done; of those of the library "copying"
 *            are not done, and "most" is how many were not done at once since this was asked last.
 *            "largest": the KiB of the longest host memory that was registered so far. "flushes":
 *            how often what devices have written was flushed.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define FAKE_API __attribute__((visibility("default")))

enum {
    DONE = 0,
    INVALID_VALUE = 1,
    OUT_OF_MEMORY = 2,
    NOT_INITIALIZED = 3,
    INVALID_CONTEXT = 201,
    ALREADY_REGISTERED = 712,
    NOT_REGISTERED = 713,
    NOT_SUPPORTED = 801,
    INVALID_HANDLE = 400,
    MAP_FAILED_RESULT = 205,
    ALREADY_MAPPED = 208,
    CAPTURE_UNSUPPORTED = 900,
    CAPTURE_INVALIDATED = 901,
};
enum { CAPTURE_GLOBAL = 0, CAPTURE_RELAXED = 2 };
enum { DEVICES = 2, CONTEXTS = 16, DEPTH = 8, BLOCKS = 256, REGISTERED = 64 };

struct fake_work {
    uintptr_t to, from; /* from: 0: fill with `value` */
    size_t size;
    unsigned char value;
    bool is_of_library;
    struct fake_work *next;
};
struct fake_stream {
    struct fake_context *context;
    struct fake_work *first, **end;
    bool is_capturing, is_invalid;
    int capture_mode;
    struct fake_stream *next;
};
struct fake_context {
    int device, retained;
    unsigned long long id; /* 0: not made */
    struct fake_stream legacy, per_thread;
    struct fake_stream *streams;
};
struct fake_block {
    uintptr_t at;
    unsigned char *alias;   /* what the GPU's work sees */
    unsigned char *foreign; /* what RDMA devices see, at `at`; NULL: the same */
    size_t size;
    struct fake_context *context; /* NULL: the device's pool */
    int device;
    bool is_managed;
    uint64_t id;
    int memory;         /* a file descriptor */
    _Atomic int *opens; /* by other processes: behind the memory in the file */
    bool is_import;
};

/* As a CUipcMemHandle has it. */
struct fake_handle {
    int pid, memory;
    size_t size;
    int device;
    char rest[64 - 3 * sizeof(int) - sizeof(size_t)];
};
_Static_assert(sizeof(struct fake_handle) == 64, "as cuda.h has it");

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool is_initialized;
static struct fake_context contexts[CONTEXTS]; /* the first are the devices' primary ones */
static unsigned long long ids;
static struct fake_block blocks[BLOCKS];
static uintptr_t registered[REGISTERED];
static size_t largest;
static int flushes;
static _Thread_local struct fake_context *stack[DEPTH];
static _Thread_local int depth;
static _Thread_local int capture_mode = CAPTURE_GLOBAL;

/* --- failures ----------------------------------------------------------------------------------
 */

static bool is_from_library(const void *caller)
{
    Dl_info info;

    return dladdr(caller, &info) && info.dli_fname && strstr(info.dli_fname, "mlaunch-runtime");
}

static int fake_failure(const char *name, const void *caller)
{
    static _Atomic int calls;
    const char *wanted = getenv("FAKE_CUDA_FAIL");
    size_t length = strlen(name);
    char *end;
    long at, now;

    if (!wanted || strncmp(wanted, name, length) != 0 || wanted[length] != ':' ||
        !is_from_library(caller))
        return DONE;
    at = strtol(wanted + length + 1, &end, 10);
    now = ++calls;
    if (at < 0 ? now < -at : now != at)
        return DONE;
    if (strcmp(end, ":die") == 0)
        _exit(0);
    return *end == ':' ? atoi(end + 1) : 999;
}

#define FAKE_BEGIN(name)                                                                           \
    do {                                                                                           \
        int failure = fake_failure(name, __builtin_return_address(0));                             \
        if (failure)                                                                               \
            return failure;                                                                        \
        if (!is_initialized)                                                                       \
            return NOT_INITIALIZED;                                                                \
    } while (0)

FAKE_API int cuGetErrorName(int result, const char **text)
{
    *text = result == 999                   ? "CUDA_ERROR_UNKNOWN"
            : result == 700                 ? "CUDA_ERROR_ILLEGAL_ADDRESS"
            : result == INVALID_CONTEXT     ? "CUDA_ERROR_INVALID_CONTEXT"
            : result == NOT_SUPPORTED       ? "CUDA_ERROR_NOT_SUPPORTED"
            : result == MAP_FAILED_RESULT   ? "CUDA_ERROR_MAP_FAILED"
            : result == INVALID_VALUE       ? "CUDA_ERROR_INVALID_VALUE"
            : result == CAPTURE_UNSUPPORTED ? "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"
                                            : "CUDA_ERROR_FAKE";
    return DONE;
}

FAKE_API int cuGetErrorString(int result, const char **text)
{
    *text = result == 700 ? "an illegal memory access was encountered" : "made up by fake_cuda";
    return DONE;
}

/* --- memory ------------------------------------------------------------------------------------
 */

static struct fake_block *fake_block_of(uintptr_t at)
{
    for (struct fake_block *b = blocks; b < blocks + BLOCKS; b++)
        if (b->size && at >= b->at && at - b->at < b->size)
            return b;
    return NULL;
}

/* Where the fake may touch it. */
static void *fake_reach(uintptr_t at)
{
    const struct fake_block *b = fake_block_of(at);

    return b ? (void *)(b->alias + (at - b->at)) : (void *)at;
}

/* What the GPU has written there is seen by RDMA devices at once. */
static void fake_show(uintptr_t at, size_t size)
{
    const struct fake_block *b = fake_block_of(at);

    if (b && b->foreign)
        memcpy(b->foreign + (at - b->at), b->alias + (at - b->at), size);
}

static bool fake_is_ordered(void)
{
    return getenv("FAKE_CUDA_ORDERED") != NULL;
}

/* What RDMA devices have written there is seen by the GPU. Under the lock. */
static void fake_flush(uintptr_t at, size_t size)
{
    const struct fake_block *b = fake_block_of(at);

    if (b && b->foreign)
        memcpy(b->alias + (at - b->at), b->foreign + (at - b->at), size);
}

static size_t fake_whole(size_t size)
{
    size_t page = (size_t)getpagesize();

    return (size + page - 1) / page * page;
}

/* Maps the file of a block, which is the block's. Under the lock. */
static int fake_map(struct fake_block *out, int fd, size_t size)
{
    struct fake_block *b = blocks;
    size_t whole = fake_whole(size), page = (size_t)getpagesize();
    bool has_device = getenv("FAKE_CUDA_PEERMEM") != NULL;
    unsigned char *at, *alias;

    while (b < blocks + BLOCKS && b->size)
        b++;
    if (fd < 0 || b == blocks + BLOCKS)
        return OUT_OF_MEMORY;
    at = has_device
             ? mmap(NULL, whole, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)(whole + page))
             : mmap(NULL, whole, PROT_NONE, MAP_SHARED, fd, 0);
    alias = mmap(NULL, whole + page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED || alias == MAP_FAILED)
        return OUT_OF_MEMORY;
    out->at = (uintptr_t)at;
    out->alias = alias;
    out->foreign = has_device ? at : NULL;
    out->size = size;
    out->id = ++ids;
    out->memory = fd;
    out->opens = (_Atomic int *)(alias + whole);
    *b = *out;
    return DONE;
}

static void fake_unmap(struct fake_block *b)
{
    if (!b->foreign || !getenv("FAKE_CUDA_PINNED"))
        munmap((void *)b->at, fake_whole(b->size));
    munmap(b->alias, fake_whole(b->size) + (size_t)getpagesize());
    close(b->memory);
    *b = (struct fake_block){0};
}

static int fake_alloc(uint64_t *out, size_t size, int device, struct fake_context *context,
                      bool is_managed)
{
    struct fake_block b = {.context = context, .device = device, .is_managed = is_managed};
    size_t whole = fake_whole(size);
    int fd = memfd_create("fake_cuda", MFD_CLOEXEC);

    if (fd < 0 || ftruncate(fd, (off_t)(2 * whole + (size_t)getpagesize())) ||
        fake_map(&b, fd, size))
        return OUT_OF_MEMORY;
    memset(b.alias, 0xee, whole);
    fake_show(b.at, size);
    *out = b.at;
    return DONE;
}

static struct fake_context *fake_current(void)
{
    return depth ? stack[depth - 1] : NULL;
}

static int fake_alloc_here(uint64_t *out, size_t size, bool is_pool, bool is_managed)
{
    struct fake_context *c = fake_current();
    int result = INVALID_CONTEXT;

    pthread_mutex_lock(&lock);
    if (c)
        result = fake_alloc(out, size, c->device, is_pool ? NULL : c, is_managed);
    pthread_mutex_unlock(&lock);
    return result;
}

FAKE_API int cuMemAlloc_v2(uint64_t *out, size_t size)
{
    FAKE_BEGIN("cuMemAlloc");
    return fake_alloc_here(out, size, false, false);
}

FAKE_API int cuMemAllocManaged(uint64_t *out, size_t size, unsigned flags)
{
    (void)flags;
    FAKE_BEGIN("cuMemAllocManaged");
    return fake_alloc_here(out, size, false, true);
}

FAKE_API int cuMemAllocAsync(uint64_t *out, size_t size, void *stream)
{
    (void)stream;
    FAKE_BEGIN("cuMemAllocAsync");
    return fake_alloc_here(out, size, true, false);
}

FAKE_API int cuMemFree_v2(uint64_t at)
{
    struct fake_block *b;

    pthread_mutex_lock(&lock);
    b = fake_block_of(at);
    if (b && b->at == at && !b->is_import)
        fake_unmap(b);
    else
        b = NULL;
    pthread_mutex_unlock(&lock);
    return b ? DONE : INVALID_VALUE;
}

/* Whether a call that may wait for the GPU is forbidden now: a stream is captured in the global
 * mode, and this thread has not said that it takes care. Then the capture is lost. Under the
 * lock. */
static bool fake_ends_capture(void)
{
    bool ends = false;

    for (int i = 0; i < CONTEXTS && capture_mode != CAPTURE_RELAXED; i++)
        for (struct fake_stream *s = contexts[i].streams; s; s = s->next)
            if (s->is_capturing && s->capture_mode == CAPTURE_GLOBAL)
                ends = s->is_invalid = true;
    return ends;
}

/* --- IPC ---------------------------------------------------------------------------------------
 */

FAKE_API int cuIpcGetMemHandle(struct fake_handle *out, uint64_t at)
{
    const struct fake_block *b;
    int result = INVALID_VALUE;

    FAKE_BEGIN("cuIpcGetMemHandle");
    pthread_mutex_lock(&lock);
    b = fake_block_of(at);
    if (b && b->at == at && b->context && !b->is_managed && !b->is_import) {
        *out = (struct fake_handle){
            .pid = getpid(), .memory = b->memory, .size = b->size, .device = b->device};
        result = DONE;
    }
    pthread_mutex_unlock(&lock);
    return result;
}

/* What this process has opened of a file already. */
static const struct fake_block *fake_import_of(int fd)
{
    struct stat wanted, has;

    for (struct fake_block *b = blocks; b < blocks + BLOCKS; b++)
        if (b->size && b->is_import && fstat(fd, &wanted) == 0 && fstat(b->memory, &has) == 0 &&
            wanted.st_ino == has.st_ino && wanted.st_dev == has.st_dev)
            return b;
    return NULL;
}

FAKE_API int cuIpcOpenMemHandle_v2(uint64_t *out, struct fake_handle handle, unsigned flags)
{
    struct fake_block b = {.context = fake_current(), .device = handle.device, .is_import = true};
    const char *wanted = getenv("FAKE_CUDA_IPC");
    char path[64];
    int fd, result;

    FAKE_BEGIN("cuIpcOpenMemHandle");
    if (!b.context)
        return INVALID_CONTEXT;
    if (wanted && strcmp(wanted, "no") == 0)
        return MAP_FAILED_RESULT;
    if (flags != 1 || handle.pid == getpid())
        return INVALID_VALUE;
    snprintf(path, sizeof(path), "/proc/%d/fd/%d", handle.pid, handle.memory);
    fd = open(path, O_RDWR | O_CLOEXEC);
    pthread_mutex_lock(&lock);
    result = fake_ends_capture()  ? CAPTURE_UNSUPPORTED
             : fd < 0             ? INVALID_VALUE
             : fake_import_of(fd) ? ALREADY_MAPPED
                                  : fake_map(&b, fd, handle.size);
    pthread_mutex_unlock(&lock);
    if (result) {
        close(fd);
        return result;
    }
    ++*b.opens;
    *out = b.at;
    return DONE;
}

FAKE_API int cuIpcCloseMemHandle(uint64_t at)
{
    struct fake_block *b;
    int result = INVALID_VALUE;

    FAKE_BEGIN("cuIpcCloseMemHandle");
    pthread_mutex_lock(&lock);
    b = fake_block_of(at);
    if (fake_ends_capture()) {
        result = CAPTURE_UNSUPPORTED;
    } else if (b && b->at == at && b->is_import) {
        --*b->opens;
        fake_unmap(b);
        result = DONE;
    }
    pthread_mutex_unlock(&lock);
    return result;
}

/* --- memory as the driver knows it -------------------------------------------------------------
 */

FAKE_API int cuPointerGetAttributes(unsigned count, const int *which, void **data, uint64_t at)
{
    const struct fake_block *b;

    FAKE_BEGIN("cuPointerGetAttributes");
    pthread_mutex_lock(&lock);
    b = fake_block_of(at);
    for (unsigned i = 0; i < count; i++) {
        if (which[i] == 1)
            *(void **)data[i] = b ? b->context : NULL;
        else if (which[i] == 2)
            *(unsigned *)data[i] = b ? 2 : 0;
        else if (which[i] == 7)
            *(uint64_t *)data[i] = b ? b->id : 0;
        else if (which[i] == 8)
            *(unsigned *)data[i] = b && b->is_managed;
        else if (which[i] == 9)
            *(int *)data[i] = b ? b->device : -2;
    }
    pthread_mutex_unlock(&lock);
    return DONE;
}

FAKE_API int cuPointerSetAttribute(const void *value, int which, uint64_t at)
{
    (void)value;
    FAKE_BEGIN("cuPointerSetAttribute");
    return which == 6 && fake_block_of(at) ? DONE : INVALID_VALUE;
}

FAKE_API int cuMemGetAddressRange_v2(uint64_t *base, size_t *size, uint64_t at)
{
    const struct fake_block *b;

    FAKE_BEGIN("cuMemGetAddressRange");
    pthread_mutex_lock(&lock);
    b = fake_block_of(at);
    if (b) {
        *base = b->at;
        *size = b->size;
    }
    pthread_mutex_unlock(&lock);
    return b ? DONE : INVALID_VALUE;
}

FAKE_API int cuMemGetHandleForAddressRange(void *handle, uint64_t at, size_t size, int type,
                                           unsigned long long flags)
{
    const char *wanted = getenv("FAKE_CUDA_DMABUF");
    const struct fake_block *b = fake_block_of(at);
    size_t page = (size_t)getpagesize();

    FAKE_BEGIN("cuMemGetHandleForAddressRange");
    if (!fake_current())
        return INVALID_CONTEXT;
    if (wanted && strcmp(wanted, "no") == 0)
        return NOT_SUPPORTED;
    if (!b || type != 1 || flags || at % page || size % page ||
        at + size > b->at + (b->size + page - 1) / page * page)
        return INVALID_VALUE;
    *(int *)handle = dup(b->memory);
    return DONE;
}

FAKE_API int cuFlushGPUDirectRDMAWrites(int target, int scope)
{
    FAKE_BEGIN("cuFlushGPUDirectRDMAWrites");
    if (!fake_current())
        return INVALID_CONTEXT;
    if (target != 0 || scope != 100)
        return INVALID_VALUE;
    pthread_mutex_lock(&lock);
    flushes++;
    for (struct fake_block *b = blocks; b < blocks + BLOCKS; b++)
        if (b->size)
            fake_flush(b->at, b->size);
    pthread_mutex_unlock(&lock);
    return DONE;
}

FAKE_API int cuDeviceGetAttribute(int *value, int attribute, int device)
{
    FAKE_BEGIN("cuDeviceGetAttribute");
    if (attribute != 118 || device < 0 || device >= DEVICES)
        return INVALID_VALUE;
    *value = fake_is_ordered() ? 100 : 0;
    return DONE;
}

static uintptr_t *fake_registration(const void *memory)
{
    for (int i = 0; i < REGISTERED; i++)
        if (registered[i] == (uintptr_t)memory)
            return &registered[i];
    return NULL;
}

FAKE_API int cuMemHostRegister_v2(void *memory, size_t size, unsigned flags)
{
    uintptr_t *place;
    int result = OUT_OF_MEMORY;

    (void)flags;
    FAKE_BEGIN("cuMemHostRegister");
    if (!fake_current())
        return INVALID_CONTEXT;
    memset(memory, 0xdd, size); /* what it held is nobody's business */
    pthread_mutex_lock(&lock);
    place = fake_registration(NULL);
    if (fake_ends_capture()) {
        result = CAPTURE_UNSUPPORTED;
    } else if (fake_registration(memory)) {
        result = ALREADY_REGISTERED;
    } else if (place) {
        *place = (uintptr_t)memory;
        largest = size > largest ? size : largest;
        result = DONE;
    }
    pthread_mutex_unlock(&lock);
    return result;
}

FAKE_API int cuMemHostUnregister(void *memory)
{
    uintptr_t *place = NULL;
    bool ends_capture;

    FAKE_BEGIN("cuMemHostUnregister");
    pthread_mutex_lock(&lock);
    ends_capture = fake_ends_capture();
    if (!ends_capture)
        place = fake_registration(memory);
    if (place)
        *place = 0;
    pthread_mutex_unlock(&lock);
    return ends_capture ? CAPTURE_UNSUPPORTED : place ? DONE : NOT_REGISTERED;
}

/* --- contexts ----------------------------------------------------------------------------------
 */

static void fake_context_make(struct fake_context *c, int device)
{
    *c = (struct fake_context){.device = device, .id = ++ids};
    c->legacy.context = c->per_thread.context = c;
    c->legacy.end = &c->legacy.first;
    c->per_thread.end = &c->per_thread.first;
}

FAKE_API int cuInit(unsigned flags)
{
    (void)flags;
    is_initialized = true;
    return DONE;
}

FAKE_API int cuDeviceGetCount(int *count)
{
    FAKE_BEGIN("cuDeviceGetCount");
    *count = DEVICES;
    return DONE;
}

FAKE_API int cuCtxCreate_v2(void **out, unsigned flags, int device)
{
    int i = DEVICES;

    (void)flags;
    FAKE_BEGIN("cuCtxCreate");
    pthread_mutex_lock(&lock);
    while (i < CONTEXTS && contexts[i].id)
        i++;
    if (i < CONTEXTS)
        fake_context_make(&contexts[i], device);
    pthread_mutex_unlock(&lock);
    if (i == CONTEXTS || depth == DEPTH)
        return OUT_OF_MEMORY;
    *out = stack[depth++] = &contexts[i];
    return DONE;
}

FAKE_API int cuDevicePrimaryCtxRetain(void **out, int device)
{
    FAKE_BEGIN("cuDevicePrimaryCtxRetain");
    if (device < 0 || device >= DEVICES)
        return INVALID_VALUE;
    pthread_mutex_lock(&lock);
    if (!contexts[device].id)
        fake_context_make(&contexts[device], device);
    contexts[device].retained++;
    pthread_mutex_unlock(&lock);
    *out = &contexts[device];
    return DONE;
}

FAKE_API int cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *is_active)
{
    FAKE_BEGIN("cuDevicePrimaryCtxGetState");
    *flags = 0;
    *is_active = contexts[device].id != 0;
    return DONE;
}

FAKE_API int cuDevicePrimaryCtxRelease(int device)
{
    FAKE_BEGIN("cuDevicePrimaryCtxRelease");
    pthread_mutex_lock(&lock);
    contexts[device].retained--;
    pthread_mutex_unlock(&lock);
    return DONE;
}

FAKE_API int cuCtxPushCurrent_v2(void *context)
{
    FAKE_BEGIN("cuCtxPushCurrent");
    if (!context || depth == DEPTH)
        return INVALID_CONTEXT;
    stack[depth++] = context;
    return DONE;
}

FAKE_API int cuCtxPopCurrent_v2(void **context)
{
    FAKE_BEGIN("cuCtxPopCurrent");
    if (!depth)
        return INVALID_CONTEXT;
    *context = stack[--depth];
    return DONE;
}

FAKE_API int cuCtxSetCurrent(void *context)
{
    FAKE_BEGIN("cuCtxSetCurrent");
    stack[depth ? depth - 1 : depth++] = context;
    return DONE;
}

FAKE_API int cuCtxGetCurrent(void **context)
{
    FAKE_BEGIN("cuCtxGetCurrent");
    *context = fake_current();
    return DONE;
}

FAKE_API int cuCtxGetDevice(int *device)
{
    FAKE_BEGIN("cuCtxGetDevice");
    if (!fake_current())
        return INVALID_CONTEXT;
    *device = fake_current()->device;
    return DONE;
}

FAKE_API int cuCtxGetId(void *context, unsigned long long *id)
{
    FAKE_BEGIN("cuCtxGetId");
    *id = ((struct fake_context *)context)->id;
    return DONE;
}

/* --- streams -----------------------------------------------------------------------------------
 */

/* The stream that a handle means in the current context. */
static struct fake_stream *fake_stream_of(void *handle)
{
    struct fake_context *c = fake_current();

    if ((uintptr_t)handle > 2)
        return handle;
    if (!c)
        return NULL;
    return (uintptr_t)handle == 2 ? &c->per_thread : &c->legacy;
}

static int queued, copying, most_copying; /* under the lock */

static void fake_stream_finish(struct fake_stream *s)
{
    while (s->first) {
        struct fake_work *w = s->first;

        s->first = w->next;
        if (fake_is_ordered())
            fake_flush(w->from, w->size);
        if (w->from)
            memmove(fake_reach(w->to), fake_reach(w->from), w->size);
        else
            memset(fake_reach(w->to), w->value, w->size);
        fake_show(w->to, w->size);
        queued--;
        copying -= w->is_of_library;
        free(w);
    }
    s->end = &s->first;
}

FAKE_API int cuStreamCreate(void **out, unsigned flags)
{
    struct fake_context *c = fake_current();
    struct fake_stream *s;

    (void)flags;
    FAKE_BEGIN("cuStreamCreate");
    if (!c)
        return INVALID_CONTEXT;
    s = calloc(1, sizeof(*s));
    if (!s)
        return OUT_OF_MEMORY;
    pthread_mutex_lock(&lock);
    if (fake_ends_capture()) {
        pthread_mutex_unlock(&lock);
        free(s);
        return CAPTURE_UNSUPPORTED;
    }
    s->context = c;
    s->end = &s->first;
    s->next = c->streams;
    c->streams = s;
    pthread_mutex_unlock(&lock);
    *out = s;
    return DONE;
}

FAKE_API int cuStreamDestroy_v2(void *handle)
{
    struct fake_stream *s = handle, **at;

    FAKE_BEGIN("cuStreamDestroy");
    pthread_mutex_lock(&lock);
    at = &s->context->streams;
    while (*at && *at != s)
        at = &(*at)->next;
    if (*at) {
        *at = s->next;
        fake_stream_finish(s);
        free(s);
    }
    pthread_mutex_unlock(&lock);
    return DONE;
}

FAKE_API int cuStreamSynchronize(void *handle)
{
    struct fake_stream *s = fake_stream_of(handle);
    int result = DONE;

    FAKE_BEGIN("cuStreamSynchronize");
    if (!s)
        return INVALID_CONTEXT;
    pthread_mutex_lock(&lock);
    if (s->is_capturing) {
        s->is_invalid = true;
        result = CAPTURE_UNSUPPORTED;
    } else if (fake_ends_capture()) {
        result = CAPTURE_UNSUPPORTED;
    } else {
        fake_stream_finish(s);
    }
    pthread_mutex_unlock(&lock);
    return result;
}

FAKE_API int cuCtxSynchronize(void)
{
    struct fake_context *c = fake_current();
    int result = DONE;

    FAKE_BEGIN("cuCtxSynchronize");
    if (!c)
        return INVALID_CONTEXT;
    pthread_mutex_lock(&lock);
    for (struct fake_stream *s = c->streams; s; s = s->next)
        if (s->is_capturing) {
            s->is_invalid = true;
            result = CAPTURE_UNSUPPORTED;
        }
    if (result == DONE) {
        fake_stream_finish(&c->legacy);
        fake_stream_finish(&c->per_thread);
        for (struct fake_stream *s = c->streams; s; s = s->next)
            fake_stream_finish(s);
    }
    pthread_mutex_unlock(&lock);
    return result;
}

static int fake_queue(void *handle, struct fake_work work)
{
    struct fake_stream *s = fake_stream_of(handle);
    const struct fake_block *to, *from;
    struct fake_work *w = malloc(sizeof(*w));
    int result = DONE;

    if (!s || !w || !fake_current()) {
        free(w);
        return INVALID_CONTEXT;
    }
    *w = work;
    w->next = NULL;
    pthread_mutex_lock(&lock);
    to = fake_block_of(w->to);
    from = fake_block_of(w->from);
    if ((to && w->size > to->size - (w->to - to->at)) ||
        (from && w->size > from->size - (w->from - from->at))) {
        result = INVALID_VALUE;
        free(w);
    } else if (s->is_capturing) {
        free(w); /* a node of the graph, which nobody launches */
    } else {
        *s->end = w;
        s->end = &w->next;
        queued++;
        copying += w->is_of_library;
        most_copying = copying > most_copying ? copying : most_copying;
    }
    pthread_mutex_unlock(&lock);
    return result;
}

static _Atomic int copies;

FAKE_API int cuMemcpyAsync(uint64_t to, uint64_t from, size_t size, void *stream)
{
    FAKE_BEGIN("cuMemcpyAsync");
    copies++;
    return fake_queue(
        stream, (struct fake_work){.to = to,
                                   .from = from,
                                   .size = size,
                                   .is_of_library = is_from_library(__builtin_return_address(0))});
}

FAKE_API int cuMemsetD8Async(uint64_t to, unsigned char value, size_t size, void *stream)
{
    FAKE_BEGIN("cuMemsetD8Async");
    return fake_queue(stream, (struct fake_work){.to = to, .value = value, .size = size});
}

FAKE_API int cuStreamBeginCapture_v2(void *handle, int mode)
{
    struct fake_stream *s = fake_stream_of(handle);

    FAKE_BEGIN("cuStreamBeginCapture");
    if (!s)
        return INVALID_CONTEXT;
    s->capture_mode = mode;
    s->is_capturing = true;
    s->is_invalid = false;
    return DONE;
}

FAKE_API int cuStreamEndCapture(void *handle, void **graph)
{
    struct fake_stream *s = fake_stream_of(handle);

    FAKE_BEGIN("cuStreamEndCapture");
    if (!s)
        return INVALID_CONTEXT;
    s->is_capturing = false;
    *graph = NULL;
    return s->is_invalid ? CAPTURE_INVALIDATED : DONE;
}

FAKE_API int cuThreadExchangeStreamCaptureMode(int *mode)
{
    int before = capture_mode;

    FAKE_BEGIN("cuThreadExchangeStreamCaptureMode");
    capture_mode = *mode;
    *mode = before;
    return DONE;
}

FAKE_API int cuStreamIsCapturing(void *handle, int *status)
{
    struct fake_stream *s = fake_stream_of(handle);

    FAKE_BEGIN("cuStreamIsCapturing");
    if (!s)
        return INVALID_CONTEXT;
    *status = s->is_capturing ? s->is_invalid ? 2 : 1 : 0;
    return DONE;
}

/* --- leaks -------------------------------------------------------------------------------------
 */

FAKE_API int fakeCudaCount(const char *what)
{
    int count = 0;

    if (strcmp(what, "depth") == 0)
        return depth;
    if (strcmp(what, "mode") == 0)
        return capture_mode;
    if (strcmp(what, "copies") == 0)
        return copies;
    pthread_mutex_lock(&lock);
    if (strcmp(what, "flushes") == 0)
        count = flushes;
    if (strcmp(what, "queued") == 0)
        count = queued;
    if (strcmp(what, "copying") == 0)
        count = copying;
    if (strcmp(what, "largest") == 0)
        count = (int)(largest >> 10);
    if (strcmp(what, "most") == 0) {
        count = most_copying;
        most_copying = copying;
    }
    for (int i = 0; i < REGISTERED && strcmp(what, "registrations") == 0; i++)
        count += registered[i] != 0;
    for (struct fake_block *b = blocks; b < blocks + BLOCKS; b++)
        if (b->size && strcmp(what, b->is_import ? "imports" : "exports") == 0)
            count += b->is_import ? 1 : *b->opens;
    for (int i = 0; i < CONTEXTS; i++) {
        if (strcmp(what, "retained") == 0)
            count += contexts[i].retained;
        for (struct fake_stream *s = contexts[i].streams; s && strcmp(what, "streams") == 0;
             s = s->next)
            count++;
    }
    pthread_mutex_unlock(&lock);
    return count;
}

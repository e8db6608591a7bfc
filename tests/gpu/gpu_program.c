/* SPDX-License-Identifier: MIT */
#include "tests/gpu/gpu_program.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *gpu_program_case = "before the first case";
void *gpu_work, *gpu_reader;

static void *library;
static int devices = 2;
static struct {
    int (*init)(unsigned);
    int (*retain)(void **, int);
    int (*create)(void **, unsigned, int);
    int (*push)(void *);
    int (*pop)(void **);
    int (*stream)(void **, unsigned);
    int (*synchronize)(void *);
    int (*synchronize_all)(void);
    int (*alloc)(uint64_t *, size_t);
    int (*alloc_managed)(uint64_t *, size_t, unsigned);
    int (*alloc_async)(uint64_t *, size_t, void *);
    int (*release)(uint64_t);
    int (*copy)(uint64_t, uint64_t, size_t, void *);
    int (*begin)(void *, int);
    int (*end)(void *, void **);
    int (*count)(const char *);
    int (*count_devices)(int *);
} cuda;

static void on_access(int signal)
{
    static const char text[] = "the processor has touched GPU memory in the case: ";

    (void)signal;
    if (write(STDERR_FILENO, text, sizeof(text) - 1) < 0 ||
        write(STDERR_FILENO, gpu_program_case, strlen(gpu_program_case)) < 0 ||
        write(STDERR_FILENO, "\n", 1) < 0)
        _exit(98);
    _exit(99);
}

static void must(int result, const char *what)
{
    if (!result)
        return;
    fprintf(stderr, "%s: %s: the driver says %d\n", gpu_program_case, what, result);
    exit(97);
}

static void *name(const char *symbol)
{
    return dlsym(library, symbol);
}

static void find_names(void)
{
    *(void **)&cuda.init = name("cuInit");
    *(void **)&cuda.retain = name("cuDevicePrimaryCtxRetain");
    *(void **)&cuda.create = name("cuCtxCreate_v2");
    *(void **)&cuda.push = name("cuCtxPushCurrent_v2");
    *(void **)&cuda.pop = name("cuCtxPopCurrent_v2");
    *(void **)&cuda.stream = name("cuStreamCreate");
    *(void **)&cuda.synchronize = name("cuStreamSynchronize");
    *(void **)&cuda.synchronize_all = name("cuCtxSynchronize");
    *(void **)&cuda.alloc = name("cuMemAlloc_v2");
    *(void **)&cuda.alloc_managed = name("cuMemAllocManaged");
    *(void **)&cuda.alloc_async = name("cuMemAllocAsync");
    *(void **)&cuda.release = name("cuMemFree_v2");
    *(void **)&cuda.copy = name("cuMemcpyAsync");
    *(void **)&cuda.begin = name("cuStreamBeginCapture_v2");
    *(void **)&cuda.end = name("cuStreamEndCapture");
    *(void **)&cuda.count = name("fakeCudaCount");
    *(void **)&cuda.count_devices = name("cuDeviceGetCount");
}

void gpu_program_load(int device)
{
    struct sigaction action = {.sa_handler = on_access};
    void *context;

    library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        fprintf(stderr, "cannot load libcuda.so.1: %s\n", dlerror());
        exit(96);
    }
    find_names();
    sigaction(SIGSEGV, &action, NULL);
    must(cuda.init(0), "cuInit");
    must(cuda.count_devices(&devices), "cuDeviceGetCount");
    must(cuda.retain(&context, device % devices), "cuDevicePrimaryCtxRetain");
    must(cuda.push(context), "cuCtxPushCurrent");
    gpu_work = gpu_stream();
    gpu_reader = gpu_stream();
}

void *gpu_stream(void)
{
    void *stream;

    must(cuda.stream(&stream, 1), "cuStreamCreate");
    return stream;
}

void gpu_wait(void)
{
    must(cuda.synchronize(gpu_work), "cuStreamSynchronize");
}

bool gpu_is_quiet(const int *memory, size_t count)
{
    int *before = gpu_read(memory, count), *after;
    bool is_same;

    must(cuda.synchronize_all(), "cuCtxSynchronize");
    after = gpu_read(memory, count);
    is_same = memcmp(before, after, count * sizeof(int)) == 0;
    free(before);
    free(after);
    return is_same;
}

void *gpu_context_leave(void)
{
    void *context;

    must(cuda.pop(&context), "cuCtxPopCurrent");
    return context;
}

void gpu_context_enter(void *context)
{
    must(cuda.push(context), "cuCtxPushCurrent");
}

int *gpu_ints(size_t count, enum gpu_kind kind)
{
    size_t size = count * sizeof(int);
    uint64_t at = 0;

    if (kind == GPU_MANAGED)
        must(cuda.alloc_managed(&at, size, 1), "cuMemAllocManaged");
    else if (kind == GPU_POOL)
        must(cuda.alloc_async(&at, size, gpu_work), "cuMemAllocAsync");
    else
        must(cuda.alloc(&at, size), "cuMemAlloc");
    return (int *)(uintptr_t)at;
}

int *gpu_ints_on(int device, size_t count)
{
    void *context;
    int *memory;

    must(cuda.create(&context, 0, device % devices), "cuCtxCreate");
    memory = gpu_ints(count, GPU_PLAIN);
    must(cuda.pop(&context), "cuCtxPopCurrent");
    return memory;
}

void gpu_free(int *memory)
{
    must(cuda.release((uintptr_t)memory), "cuMemFree");
}

/* What is queued reads it at some time, so it is never freed. A leak check finds it here. */
static struct source {
    struct source *next;
    int values[];
} * sources;

void gpu_count_up(int *memory, size_t count, int first)
{
    struct source *host = malloc(sizeof(*host) + count * sizeof(int));

    host->next = sources;
    sources = host;
    for (size_t i = 0; i < count; i++)
        host->values[i] = first + (int)i;
    gpu_copy(memory, host->values, count);
}

void gpu_copy(int *to, const int *from, size_t count)
{
    must(cuda.copy((uintptr_t)to, (uintptr_t)from, count * sizeof(int), gpu_work), "cuMemcpyAsync");
}

int *gpu_read(const int *memory, size_t count)
{
    int *host = calloc(count + 1, sizeof(int));

    must(cuda.copy((uintptr_t)host, (uintptr_t)memory, count * sizeof(int), gpu_reader),
         "cuMemcpyAsync");
    must(cuda.synchronize(gpu_reader), "cuStreamSynchronize");
    return host;
}

bool gpu_counts(const int *memory, size_t count, int first, int step)
{
    int *host = gpu_read(memory, count);
    size_t i = 0;

    while (i < count && host[i] == first + (int)i * step)
        i++;
    if (i < count)
        fprintf(stderr, "%s: element %zu of %zu is %d, not %d\n", gpu_program_case, i, count,
                host[i], first + (int)i * step);
    free(host);
    return i == count;
}

bool gpu_capture_begin(void *stream, enum gpu_capture mode)
{
    return cuda.begin(stream, mode) == 0;
}

bool gpu_capture_end(void *stream)
{
    void *graph;

    return cuda.end(stream, &graph) == 0;
}

int gpu_left(const char *what)
{
    return cuda.count ? cuda.count(what) : -1;
}

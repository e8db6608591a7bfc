/* SPDX-License-Identifier: MIT */
#include "runtime/gpu/gpu_range.h"

#include "common/ranges.h"

#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

struct known {
    struct range range;
    uint64_t id;
};

static struct {
    pthread_mutex_t lock;
    struct gpu_range_watcher watcher;
    bool is_watched;
    struct ranges known;
} offered = {.lock = PTHREAD_MUTEX_INITIALIZER, .known = {.item_size = sizeof(struct known)}};

void gpu_range_watch(const struct gpu_range_watcher *w)
{
    pthread_mutex_lock(&offered.lock);
    offered.watcher = *w;
    offered.is_watched = true;
    pthread_mutex_unlock(&offered.lock);
}

static void range_drop_freed(const struct cuda_driver *driver)
{
    for (size_t i = offered.known.count; i > 0; i--) {
        struct known *k = ranges_item(&offered.known, i - 1);

        if (gpu_memory_id(driver, k->range.base) == k->id)
            continue;
        offered.watcher.drop(k->range.base);
        ranges_remove(&offered.known, k);
    }
}

/* A dma-buf is of whole pages. In the memory's context. */
static void range_export(const struct cuda_driver *driver, uint64_t base, size_t size,
                         struct gpu_range_export *out)
{
    size_t page = (size_t)getpagesize();
    uint64_t first = base / page * page;
    uint64_t end = (base + size + page - 1) / page * page;
    const char *name = NULL;
    int result;

    *out = (struct gpu_range_export){.dmabuf = -1, .offset = base - first};
    if (!driver->memory_handle) {
        snprintf(out->refusal, sizeof(out->refusal), "the GPU's driver is older than CUDA 11.7");
        return;
    }
    result = driver->memory_handle(&out->dmabuf, first, end - first, CUDA_RANGE_DMABUF, 0);
    if (result == CUDA_IS_DONE)
        return;
    out->dmabuf = -1;
    driver->error_name(result, &name);
    snprintf(out->refusal, sizeof(out->refusal), "cuMemGetHandleForAddressRange: %s",
             name ? name : "an unknown error");
}

/* So that a copy of the program that seems to be done is done, though it was in no stream. */
static void range_order_copies(const struct cuda_driver *driver, uint64_t base)
{
    int yes = 1;

    driver->pointer_set(&yes, CUDA_POINTER_SYNC_MEMOPS, base);
}

static bool range_refuse(struct fault *why, const struct gpu_memory *m, const char *reason)
{
    fault_set(why, ML_ERR_DEVICE, "this memory of GPU %d can't be registered: %s", m->device,
              reason);
    return false;
}

static bool range_refuse_managed(struct fault *why, const struct gpu_memory *m)
{
    return range_refuse(why, m, "it is managed memory, which moves");
}

bool gpu_range_export(const struct gpu_memory *m, const void *at, size_t size,
                      struct gpu_range_export *out, struct fault *why)
{
    if (m->is_managed)
        return range_refuse_managed(why, m);
    if (gpu_memory_enter(m, why))
        return false;
    range_export(m->driver, (uintptr_t)at, size, out);
    range_order_copies(m->driver, (uintptr_t)at);
    gpu_memory_leave(m);
    return true;
}

static bool range_add(const struct gpu_memory *m, const void *at, size_t size, struct fault *why)
{
    struct known k = {.id = gpu_memory_id(m->driver, at)};
    struct gpu_range_export by;
    uint64_t base = 0;

    if (m->is_managed)
        return range_refuse_managed(why, m);
    if (!k.id || m->driver->memory_range(&base, &k.range.size, (uintptr_t)at) != CUDA_IS_DONE)
        return range_refuse(why, m, "the driver does not say where its allocation begins");
    k.range.base = (unsigned char *)(uintptr_t)base; /* NOLINT: the driver's number */
    if (size > k.range.size - ((uintptr_t)at - base))
        return range_refuse(why, m, "the buffer is not all in one allocation");
    if (!ranges_reserve(&offered.known))
        return range_refuse(why, m, "out of memory");
    range_export(m->driver, base, k.range.size, &by);
    range_order_copies(m->driver, base);
    if (!offered.watcher.add(k.range.base, k.range.size, by.dmabuf, by.offset, by.refusal))
        return range_refuse(why, m, "out of memory");
    ranges_add(&offered.known, &k);
    return true;
}

bool gpu_range_offer(const struct gpu_memory *m, const void *at, size_t size, struct fault *why)
{
    bool is_known = false;

    why->code = 0;
    pthread_mutex_lock(&offered.lock);
    if (offered.is_watched) {
        range_drop_freed(m->driver);
        is_known = ranges_find(&offered.known, at, size) != NULL;
        if (!is_known && gpu_memory_enter(m, why) == 0) {
            is_known = range_add(m, at, size, why);
            gpu_memory_leave(m);
        }
    }
    pthread_mutex_unlock(&offered.lock);
    return is_known;
}

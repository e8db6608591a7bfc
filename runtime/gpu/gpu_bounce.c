/* SPDX-License-Identifier: MIT */
#include "runtime/gpu/gpu_bounce.h"

#include "runtime/gpu/gpu_memory.h"
#include "runtime/process/alloc.h"

#include <pthread.h>

/* Those that nobody uses. Each has a memory, if it is there. */
static struct {
    pthread_mutex_t lock;
    struct gpu_bounce kept[GPU_BOUNCE_KEPT];
} bounces = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* The shortest that is long enough. */
static bool bounces_take(struct gpu_bounce *out, size_t size)
{
    struct gpu_bounce *best = NULL;

    pthread_mutex_lock(&bounces.lock);
    for (struct gpu_bounce *b = bounces.kept; b < bounces.kept + GPU_BOUNCE_KEPT; b++)
        if (b->memory && b->size >= size && (!best || b->size < best->size))
            best = b;
    if (best) {
        *out = *best;
        *best = (struct gpu_bounce){0};
    }
    pthread_mutex_unlock(&bounces.lock);
    return best != NULL;
}

/* Keeps *b in the place of the shortest, if that is shorter. *b: what is left over, if anything. */
static void bounces_keep(struct gpu_bounce *b)
{
    struct gpu_bounce *shortest = bounces.kept, other;

    if (b->size > GPU_BOUNCE_KEPT_SIZE)
        return;
    pthread_mutex_lock(&bounces.lock);
    for (struct gpu_bounce *each = bounces.kept; each < bounces.kept + GPU_BOUNCE_KEPT; each++)
        if (each->size < shortest->size)
            shortest = each;
    if (shortest->size < b->size) {
        other = *shortest;
        *shortest = *b;
        *b = other;
    }
    pthread_mutex_unlock(&bounces.lock);
}

static size_t bounce_round(size_t size)
{
    size_t rounded = GPU_BOUNCE_SHORTEST_SIZE;

    if (size > GPU_BOUNCE_KEPT_SIZE)
        return size;
    while (rounded < size)
        rounded *= 2;
    return rounded;
}

int gpu_bounce_open(struct gpu_bounce *out, const struct cuda_driver *driver, size_t size,
                    struct fault *why)
{
    struct gpu_bounce b = {.size = bounce_round(size)};
    int rc;

    if (bounces_take(out, size))
        return 0;
    rc = alloc_take(b.size, &b.memory, why);
    if (rc)
        return fault_wrap(why, "cannot copy GPU memory through the host");
    b.is_registered = driver->host_register(b.memory, b.size, CUDA_HOST_PORTABLE) == CUDA_IS_DONE;
    *out = b;
    return 0;
}

void gpu_bounce_close(const struct gpu_bounce *b, const struct cuda_driver *driver)
{
    struct gpu_bounce left = *b;

    if (left.memory)
        bounces_keep(&left);
    if (left.is_registered)
        driver->host_unregister(left.memory);
    alloc_give(left.memory);
}

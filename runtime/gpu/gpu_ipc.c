/* SPDX-License-Identifier: MIT */
#include "runtime/gpu/gpu_ipc.h"

#include "runtime/gpu/gpu_stream.h"

#include <pthread.h>

/* An allocation of another process. It is open in the primary context of one of this process's
 * GPUs, which is retained until it is closed. */
struct opened {
    uint64_t giver;
    struct gpu_ipc_place place;
    struct gpu_memory memory;
    uint64_t at; /* where it begins here; 0: this entry is free */
    size_t size;
    int users;
    uint64_t last_use;
};

static struct {
    pthread_mutex_t lock;
    struct opened all[GPU_IPC_KEPT];
    uint64_t uses;
} kept = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* --- giving ----------------------------------------------------------------------------------- */

static bool ipc_refuse(struct fault *why, const struct gpu_memory *m, const char *reason)
{
    fault_set(why, ML_ERR_DEVICE, "memory of GPU %d can't go by CUDA IPC: %s", m->device, reason);
    return false;
}

static bool ipc_fail(struct fault *why, const struct gpu_memory *m, const char *call, int result)
{
    cuda_driver_fault(why, result, "memory of GPU %d can't go by CUDA IPC: %s", m->device, call);
    return false;
}

/* The driver refuses memory of pools and of virtual memory, as of torch's expandable segments. */
static bool ipc_find(const struct gpu_memory *m, const void *at, size_t size,
                     struct gpu_ipc_place *out, struct fault *why)
{
    size_t whole = 0;
    int result = m->driver->memory_range(&out->base, &whole, (uintptr_t)at);

    if (result != CUDA_IS_DONE)
        return ipc_fail(why, m, "cuMemGetAddressRange", result);
    out->offset = (uintptr_t)at - out->base;
    if (size > whole - out->offset)
        return ipc_refuse(why, m, "the buffer is not all in one allocation");
    out->id = gpu_memory_id(m->driver, at);
    result = m->driver->ipc_give(&out->handle, out->base);
    return result == CUDA_IS_DONE || ipc_fail(why, m, "cuIpcGetMemHandle", result);
}

bool gpu_ipc_find(const struct gpu_memory *m, const void *at, size_t size,
                  struct gpu_ipc_place *out, struct fault *why)
{
    bool is_found;

    if (m->is_managed)
        return ipc_refuse(why, m, "it is managed memory, which moves");
    if (gpu_memory_enter(m, why))
        return false;
    is_found = ipc_find(m, at, size, out, why);
    gpu_memory_leave(m);
    return is_found;
}

/* --- opening and closing ---------------------------------------------------------------------- */

/* A program that has made a context of its own does without the primary one, which would take a lot
 * of the GPU's memory. */
static bool primary_open(struct gpu_memory *out, const struct gpu_memory *m, struct fault *why)
{
    unsigned flags;
    int is_active = 0, result = m->driver->primary_state(m->device, &flags, &is_active);

    *out = *m;
    out->is_retained = false;
    if (!m->driver->ipc_open)
        return ipc_refuse(why, m, "the driver is older than CUDA 11");
    if (result == CUDA_IS_DONE && !is_active)
        return ipc_refuse(why, m, "the program does not use the GPU's primary context");
    if (result == CUDA_IS_DONE)
        result = m->driver->primary_retain(&out->context, m->device);
    out->is_retained = result == CUDA_IS_DONE;
    return out->is_retained || ipc_fail(why, m, "cuDevicePrimaryCtxRetain", result);
}

static void opened_close(struct opened *o)
{
    struct fault ignored;

    if (gpu_memory_enter(&o->memory, &ignored) == 0) {
        o->memory.driver->ipc_close(o->at);
        gpu_memory_leave(&o->memory);
    }
    gpu_memory_close(&o->memory);
    *o = (struct opened){0};
}

/* In the context of o->memory. The giver's numbers are not trusted beyond the allocation. */
static bool opened_map(struct opened *o, struct fault *why)
{
    const struct cuda_driver *driver = o->memory.driver;
    int result;
    uint64_t base = 0;

    result = driver->ipc_open(&o->at, o->place.handle, CUDA_IPC_PEERS);
    if (result != CUDA_IS_DONE) {
        o->at = 0;
        return ipc_fail(why, &o->memory, "cuIpcOpenMemHandle", result);
    }
    result = driver->memory_range(&base, &o->size, o->at);
    if (result != CUDA_IS_DONE) {
        driver->ipc_close(o->at);
        o->at = 0;
        return ipc_fail(why, &o->memory, "cuMemGetAddressRange", result);
    }
    o->size -= o->at - base; /* short allocations may be mapped with their neighbours */
    return true;
}

static bool opened_make(struct opened *o, const struct gpu_memory *m, uint64_t giver,
                        const struct gpu_ipc_place *place, struct fault *why)
{
    struct opened made = {.giver = giver, .place = *place};
    bool is_mapped = false;

    if (!primary_open(&made.memory, m, why))
        return false;
    if (gpu_memory_enter(&made.memory, why) == 0) {
        is_mapped = opened_map(&made, why);
        gpu_memory_leave(&made.memory);
    }
    if (is_mapped)
        *o = made;
    else
        gpu_memory_close(&made.memory);
    return is_mapped;
}

/* --- what is kept ----------------------------------------------------------------------------- */

/* What lies where another allocation of its giver lies now was freed there. */
static bool kept_is_stale(const struct opened *o, uint64_t giver, const struct gpu_ipc_place *place)
{
    return o->at && o->users == 0 && o->giver == giver && o->place.id != place->id &&
           place->base + place->offset >= o->place.base && place->base < o->place.base + o->size;
}

/* The entry that has it, or a free one, for which the oldest that is not used may be closed. */
static struct opened *kept_choose(const struct gpu_memory *m, uint64_t giver,
                                  const struct gpu_ipc_place *place)
{
    struct opened *best = NULL;

    for (struct opened *o = kept.all; o < kept.all + GPU_IPC_KEPT; o++) {
        if (kept_is_stale(o, giver, place))
            opened_close(o);
        if (o->at && o->giver == giver && o->place.id == place->id && o->memory.device == m->device)
            return o;
        if (o->users == 0 && (!best || o->last_use < best->last_use))
            best = o;
    }
    if (best && best->at)
        opened_close(best);
    return best;
}

static struct opened *kept_take(const struct gpu_memory *m, uint64_t giver,
                                const struct gpu_ipc_place *place, struct fault *why)
{
    struct opened *o;

    pthread_mutex_lock(&kept.lock);
    o = kept_choose(m, giver, place);
    if (!o)
        ipc_refuse(why, m, "too many threads do so at once");
    else if (!o->at && !opened_make(o, m, giver, place, why))
        o = NULL;
    if (o) {
        o->users++;
        o->last_use = ++kept.uses;
    }
    pthread_mutex_unlock(&kept.lock);
    return o;
}

static void kept_give(struct opened *o)
{
    pthread_mutex_lock(&kept.lock);
    o->users--;
    pthread_mutex_unlock(&kept.lock);
}

void gpu_ipc_forget(uint64_t giver)
{
    pthread_mutex_lock(&kept.lock);
    for (struct opened *o = kept.all; o < kept.all + GPU_IPC_KEPT; o++)
        if (o->at && o->users == 0 && o->giver == giver)
            opened_close(o);
    pthread_mutex_unlock(&kept.lock);
}

/* --- copying ---------------------------------------------------------------------------------- */

static bool ipc_copy(const struct gpu_memory *m, uint64_t to, uint64_t from, size_t size,
                     struct fault *why)
{
    int result, waited;
    struct gpu_stream s;

    if (gpu_stream_open(&s, m, why))
        return false;
    result = m->driver->copy(to, from, size, s.stream);
    waited = m->driver->stream_synchronize(s.stream);
    gpu_stream_close(&s, m);
    if (result == CUDA_IS_DONE)
        result = waited;
    return result == CUDA_IS_DONE || ipc_fail(why, m, "cuMemcpyAsync", result);
}

static bool ipc_move(const struct gpu_memory *m, uint64_t here, uint64_t giver,
                     const struct gpu_ipc_place *there, size_t size, bool puts, struct fault *why)
{
    struct opened *o = kept_take(m, giver, there, why);
    bool is_copied = false;
    uint64_t at;

    if (!o)
        return false;
    at = o->at + there->offset;
    if (there->offset > o->size || size > o->size - there->offset)
        ipc_refuse(why, m, "the other rank's handle is of less memory than it says");
    else if (gpu_memory_enter(&o->memory, why) == 0) {
        is_copied = ipc_copy(&o->memory, puts ? at : here, puts ? here : at, size, why);
        gpu_memory_leave(&o->memory);
    }
    kept_give(o);
    return is_copied;
}

bool gpu_ipc_copy(const struct gpu_memory *m, void *to, uint64_t giver,
                  const struct gpu_ipc_place *from, size_t size, struct fault *why)
{
    return ipc_move(m, (uintptr_t)to, giver, from, size, false, why);
}

bool gpu_ipc_put(const struct gpu_memory *m, const void *from, uint64_t giver,
                 const struct gpu_ipc_place *to, size_t size, struct fault *why)
{
    return ipc_move(m, (uintptr_t)from, giver, to, size, true, why);
}

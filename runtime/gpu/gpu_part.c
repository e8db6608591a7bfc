/* SPDX-License-Identifier: MIT */
#include "runtime/gpu/gpu_part.h"

#include "runtime/gpu/gpu_stream.h"

#include <stdlib.h>

/* --- beginning and end ------------------------------------------------------------------------ */

static int part_check(const struct gpu_part *p, struct fault *why)
{
    uint64_t base = 0;
    size_t whole = 0;
    int result, rc = gpu_memory_enter(&p->memory, why);

    if (rc)
        return rc;
    result = p->memory.driver->memory_range(&base, &whole, (uintptr_t)p->at);
    gpu_memory_leave(&p->memory);
    if (result != CUDA_IS_DONE)
        return cuda_driver_fault(why, result,
                                 "cannot tell where memory of GPU %d begins: cuMemGetAddressRange",
                                 p->memory.device);
    if (p->size <= whole - ((uintptr_t)p->at - base))
        return 0;
    return fault_set(why, ML_ERR_ARGUMENT,
                     "the %zu bytes of a window must be in one allocation of GPU %d, but %zu bytes "
                     "begin there",
                     p->size, p->memory.device, whole - (size_t)((uintptr_t)p->at - base));
}

int gpu_part_open(struct gpu_part **out, const struct cuda_driver *driver, void *stream, void *at,
                  size_t size, struct fault *why)
{
    struct gpu_memory memory;
    struct gpu_part *p;
    int rc = gpu_memory_open(&memory, driver, at, why);

    *out = NULL;
    if (rc <= 0)
        return rc;
    p = calloc(1, sizeof(*p));
    if (!p) {
        gpu_memory_close(&memory);
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    }
    p->memory = memory;
    p->at = at;
    p->size = size;
    p->id = gpu_memory_id(driver, at);
    pthread_mutex_init(&p->numbers, NULL);
    rc = part_check(p, why);
    if (!rc)
        rc = gpu_memory_wait(&memory, stream, why);
    if (rc)
        gpu_part_close(p);
    else
        *out = p;
    return rc;
}

void gpu_part_close(struct gpu_part *p)
{
    if (!p)
        return;
    gpu_memory_close(&p->memory);
    pthread_mutex_destroy(&p->numbers);
    free(p);
}

/* --- copies ----------------------------------------------------------------------------------- */

/* In the part's context. Waits even if the copy fails, because the caller's memory has another use
 * afterwards. */
static int part_copy_in(const struct gpu_part *p, uint64_t to, uint64_t from, size_t size,
                        const char **failed, struct fault *why)
{
    const struct cuda_driver *driver = p->memory.driver;
    struct gpu_stream s;
    int result, waited;

    *failed = NULL;
    if (gpu_stream_open(&s, &p->memory, why))
        return why->code;
    result = driver->copy(to, from, size, s.stream);
    waited = driver->stream_synchronize(s.stream);
    gpu_stream_close(&s, &p->memory);
    *failed = result == CUDA_IS_DONE ? "cuStreamSynchronize" : "cuMemcpyAsync";
    return result == CUDA_IS_DONE ? waited : result;
}

/* Memory that was freed may be another allocation's by now, whose bytes are not to be touched. */
static int part_check_id(const struct gpu_part *p, struct fault *why)
{
    if (gpu_memory_id(p->memory.driver, p->at) == p->id)
        return 0;
    return fault_set(why, ML_ERR_DEVICE,
                     "the program has freed the memory of GPU %d that is its part of a window: "
                     "free the window first",
                     p->memory.device);
}

static int part_copy(const struct gpu_part *p, uint64_t to, uint64_t from, size_t size, bool reads,
                     struct fault *why)
{
    const char *failed;
    int result, rc = part_check_id(p, why);

    if (!rc)
        rc = gpu_memory_enter(&p->memory, why);
    if (rc)
        return rc;
    result = part_copy_in(p, to, from, size, &failed, why);
    gpu_memory_leave(&p->memory);
    if (!failed || result == CUDA_IS_DONE)
        return failed ? 0 : result;
    return cuda_driver_fault(why, result, "cannot copy %zu bytes %s GPU %d: %s", size,
                             reads ? "from" : "to", p->memory.device, failed);
}

int gpu_part_read(const struct gpu_part *p, size_t offset, void *into, size_t size,
                  struct fault *why)
{
    return part_copy(p, (uintptr_t)into, (uintptr_t)p->at + offset, size, true, why);
}

int gpu_part_write(const struct gpu_part *p, size_t offset, const void *from, size_t size,
                   struct fault *why)
{
    return part_copy(p, (uintptr_t)p->at + offset, (uintptr_t)from, size, false, why);
}

int gpu_part_settle(const struct gpu_part *p, struct fault *why)
{
    int rc = part_check_id(p, why);

    return rc ? rc : gpu_memory_settle(&p->memory, why);
}

int gpu_part_stage(const struct gpu_part *p, struct gpu_bounce *out, size_t size, struct fault *why)
{
    int rc = gpu_memory_enter(&p->memory, why);

    if (rc)
        return rc;
    rc = gpu_bounce_open(out, p->memory.driver, size, why);
    gpu_memory_leave(&p->memory);
    return rc;
}

void gpu_part_unstage(const struct gpu_part *p, struct gpu_bounce *b)
{
    struct fault ignored;
    bool is_in;

    if (!b->memory)
        return;
    is_in = gpu_memory_enter(&p->memory, &ignored) == 0;
    gpu_bounce_close(b, p->memory.driver);
    if (is_in)
        gpu_memory_leave(&p->memory);
    *b = (struct gpu_bounce){0};
}

/* --- numbers ---------------------------------------------------------------------------------- */

int gpu_part_change(struct gpu_part *p, size_t offset, const uint64_t *expected, uint64_t value,
                    uint64_t *old, struct fault *why)
{
    uint64_t now = 0, wanted;
    int rc;

    pthread_mutex_lock(&p->numbers);
    rc = gpu_part_read(p, offset, &now, sizeof(now), why);
    wanted = expected ? value : now + value;
    if (!rc && (!expected || now == *expected))
        rc = gpu_part_write(p, offset, &wanted, sizeof(wanted), why);
    if (!rc)
        atomic_fetch_add(&p->changes, 1);
    pthread_mutex_unlock(&p->numbers);
    *old = now;
    return rc;
}

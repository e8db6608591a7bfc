/* SPDX-License-Identifier: MIT */
#include "runtime/keep/keep_stage.h"

#include "runtime/gpu/gpu_buffer.h"

/* 1: `at` is memory of a GPU, and *b is open. 0: it is not, or there is nothing to copy. */
static int stage_open(struct gpu_buffer *b, const struct cuda_driver *driver, const void *at,
                      const struct keep_memory *m, struct fault *why)
{
    struct gpu_memory memory;
    int rc = driver && m->size ? gpu_memory_open(&memory, driver, at, why) : 0;

    if (rc <= 0)
        return rc;
    rc = gpu_buffer_open(b, &memory, at, m->size, m->stream, why);
    return rc ? rc : 1;
}

int keep_stage_put(const struct cuda_driver *driver, struct world *w, const char *name,
                   const void *at, const struct keep_memory *m, uint64_t version, struct fault *why)
{
    struct gpu_span all = {0, m->size};
    struct gpu_buffer b;
    int rc = stage_open(&b, driver, at, m, why);

    if (rc < 0)
        return rc;
    if (rc == 0)
        return keep_put(w, name, at, m->size, m->type, version, why);
    rc = gpu_buffer_read(&b, &all, 1, why);
    if (!rc)
        rc = keep_put(w, name, gpu_buffer_place(&b), m->size, m->type, version, why);
    gpu_buffer_close(&b);
    return rc;
}

int keep_stage_get(const struct cuda_driver *driver, const struct world *w, const char *name,
                   int id, void *at, const struct keep_memory *m, struct fault *why)
{
    struct gpu_span all = {0, m->size};
    struct gpu_buffer b;
    int rc = stage_open(&b, driver, at, m, why);

    if (rc < 0)
        return rc;
    if (rc == 0)
        return keep_get(w, name, id, at, m->size, m->type, why);
    rc = keep_get(w, name, id, gpu_buffer_place(&b), m->size, m->type, why);
    if (!rc)
        rc = gpu_buffer_write(&b, &all, 1, why);
    gpu_buffer_close(&b);
    return rc;
}

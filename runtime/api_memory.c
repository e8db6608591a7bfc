/* SPDX-License-Identifier: MIT */
#include "runtime/api_memory.h"

#include "runtime/api_last.h"
#include "runtime/call/check.h"
#include "runtime/process/alloc.h"
#include "runtime/process/pool.h"

/* --- memory ----------------------------------------------------------------------------------- */

int api_memory_alloc(size_t size, void **out)
{
    return alloc_take(size, out, &api_last);
}

/* What peers still write must not become another allocation's. */
static bool memory_is_free(const void *memory)
{
    if (!memory || !alloc_is_pinned(memory))
        return true;
    fault_set(&api_last, ML_ERR_STATE,
              "the memory at %p is a window's: free the window first (ml_window_free)", memory);
    return false;
}

void api_memory_free(void *memory)
{
    if (memory_is_free(memory))
        alloc_give(memory);
}

/* --- pools ------------------------------------------------------------------------------------ */

static struct pool *pool_of(ml_pool *handle)
{
    if (!handle)
        fault_set(&api_last, ML_ERR_ARGUMENT, "pool is NULL");
    return (struct pool *)handle;
}

int api_memory_pool_create(size_t size, size_t alignment, ml_pool **out)
{
    struct pool *made;
    int rc;

    if (!out)
        return fault_set(&api_last, ML_ERR_ARGUMENT, "out is NULL");
    rc = pool_create(&made, size, alignment, &api_last);
    if (!rc)
        *out = (ml_pool *)made;
    return rc;
}

int api_memory_pool_create_at(void *memory, size_t size, size_t alignment, ml_pool **out)
{
    struct pool *made;
    int rc = check_buffer(memory, size, "memory", &api_last);

    if (!rc && !out)
        rc = fault_set(&api_last, ML_ERR_ARGUMENT, "out is NULL");
    if (!rc)
        rc = pool_create_at(&made, memory, size, alignment, &api_last);
    if (!rc)
        *out = (ml_pool *)made;
    return rc;
}

void api_memory_pool_destroy(ml_pool *handle)
{
    struct pool *p = (struct pool *)handle;
    size_t size;

    if (p && (pool_is_foreign(p) || memory_is_free(pool_memory(p, &size))))
        pool_destroy(p);
}

int api_memory_pool_alloc(ml_pool *handle, size_t size, void **out)
{
    struct pool *p = pool_of(handle);

    if (!p)
        return ML_ERR_ARGUMENT;
    if (!out)
        return fault_set(&api_last, ML_ERR_ARGUMENT, "out is NULL");
    return pool_take(p, size, out, &api_last);
}

int api_memory_pool_free(ml_pool *handle, void *block)
{
    struct pool *p = pool_of(handle);

    return p ? pool_give(p, block, &api_last) : ML_ERR_ARGUMENT;
}

void *api_memory_pool_memory(ml_pool *handle, size_t *size)
{
    const struct pool *p = pool_of(handle);

    if (p && !size)
        fault_set(&api_last, ML_ERR_ARGUMENT, "size is NULL");
    return p && size ? pool_memory(p, size) : NULL;
}

int api_memory_pool_left(ml_pool *handle, size_t *left, size_t *longest)
{
    struct pool *p = pool_of(handle);

    if (!p)
        return ML_ERR_ARGUMENT;
    if (!left || !longest)
        return fault_set(&api_last, ML_ERR_ARGUMENT, "%s is NULL", left ? "longest" : "left");
    return pool_left(p, left, longest, &api_last);
}

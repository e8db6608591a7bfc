/* SPDX-License-Identifier: MIT */
#include "runtime/api_keep.h"

#include "runtime/api_group.h"
#include "runtime/api_last.h"
#include "runtime/call/check.h"
#include "runtime/call/progress.h"
#include "runtime/gpu/cuda_driver.h"
#include "runtime/keep/keep_agree.h"
#include "runtime/keep/keep_stage.h"

/* Checks what all these calls have in common, then begins one. */
static int keep_enter(struct group *g, const char *name, const char *call)
{
    int rc = check_enter(g, call, &api_last);

    if (rc)
        return rc;
    if (!g->is_world)
        rc =
            fault_set(&api_last, ML_ERR_ARGUMENT, "ml_%s takes the world, not a group of it", call);
    else
        rc = keep_check(g->world, name, &api_last);
    if (rc)
        group_release(g);
    return rc;
}

/* What ml_next_type and ml_next_stream have said of the memory; each holds for one call. */
static struct keep_memory keep_memory_said(struct group *g, size_t size)
{
    atomic_store(&g->next.site, NULL); /* nobody waits in it */
    return (struct keep_memory){size, atomic_exchange(&g->next.content, 0),
                                atomic_exchange(&g->next.stream, NULL)};
}

int api_keep(ml_group *handle, const char *name, const void *memory, size_t size, uint64_t version)
{
    struct group *g = api_group_of(handle);
    struct keep_memory m;
    int rc = keep_enter(g, name, "keep");

    if (rc)
        return rc;
    m = keep_memory_said(g, size);
    rc = check_buffer(memory, size, "memory", &api_last);
    if (!rc)
        rc = keep_stage_put(cuda_driver_now(), g->world, name, memory, &m, version, &api_last);
    group_release(g);
    return rc;
}

int api_keep_kept(ml_group *handle, const char *name, const int *ids, int count, uint64_t *version)
{
    struct group *g = api_group_of(handle);
    int rc;

    if (!version)
        return fault_set(&api_last, ML_ERR_ARGUMENT, "version is NULL");
    rc = keep_enter(g, name, "kept");
    if (rc)
        return rc;
    progress_settle(g);
    rc = keep_agree(g, name, atomic_exchange(&g->next.site, NULL), ids, count, version, &api_last);
    group_release(g);
    return rc;
}

int api_keep_kept_size(ml_group *handle, const char *name, int id, size_t *size)
{
    struct group *g = api_group_of(handle);
    int rc;

    if (!size)
        return fault_set(&api_last, ML_ERR_ARGUMENT, "size is NULL");
    rc = keep_enter(g, name, "kept_size");
    if (rc)
        return rc;
    rc = keep_size(g->world, name, id, size, &api_last);
    group_release(g);
    return rc;
}

int api_keep_restore(ml_group *handle, const char *name, int id, void *memory, size_t size)
{
    struct group *g = api_group_of(handle);
    struct keep_memory m;
    int rc = keep_enter(g, name, "restore");

    if (rc)
        return rc;
    m = keep_memory_said(g, size);
    rc = check_buffer(memory, size, "memory", &api_last);
    if (!rc)
        rc = keep_stage_get(cuda_driver_now(), g->world, name, id, memory, &m, &api_last);
    group_release(g);
    return rc;
}

/* SPDX-License-Identifier: MIT */
/* api.c: the calls of mlaunch.h: checks the arguments, then runs or starts what they ask for. */
#include "runtime/api.h"

#include "common/build_id.h"
#include "runtime/call/call.h"
#include "runtime/call/check.h"
#include "runtime/call/progress.h"
#include "runtime/call/request.h"
#include "runtime/call/task_run.h"
#include "runtime/call/task_stage.h"
#include "runtime/gpu/gpu_part.h"
#include "runtime/group/coord_events.h"
#include "runtime/keep/keep_agree.h"
#include "runtime/keep/keep_stage.h"
#include "runtime/process/alloc.h"
#include "runtime/process/fork_guard.h"
#include "runtime/process/pool.h"
#include "runtime/process/stop_mark_map.h"
#include "runtime/window/window_call.h"
#include "runtime/window_stage.h"
#include "runtime/world/abort.h"
#include "runtime/world/group_join.h"
#include "runtime/world/repair.h"
#include "runtime/world/split.h"
#include "runtime/world/window_join.h"
#include "runtime/world/world_join.h"

#include <stdlib.h>

/* What ml_error returns. */
static _Thread_local struct fault last;

static struct group *api_group(const ml_group *g)
{
    return (struct group *)(uintptr_t)g;
}

static ml_group *api_handle(struct group *g)
{
    return (ml_group *)g;
}

/* --- the job -----------------------------------------------------------------------------------
 */

static int api_join(ml_group **out, bool eager)
{
    struct world *w;
    int rc = check_no_operator(&last);

    if (rc)
        return rc;
    if (fork_guard_is_child)
        return fault_set(&last, ML_ERR_STATE,
                         "the process that forked this one holds the rank; a forked child can't be "
                         "a rank, unless it executes another program after the parent has left");
    rc = world_join_init(&w, eager, &last);
    if (!rc && out)
        *out = api_handle(w->group);
    return rc;
}

static int api_init(ml_group **world)
{
    if (!world)
        return fault_set(&last, ML_ERR_ARGUMENT, "world is NULL");
    return api_join(world, false);
}

static int api_init_eager(void)
{
    return api_join(NULL, true);
}

static int api_finalize(void)
{
    int rc = check_no_operator(&last);

    if (rc)
        return rc;
    if (fork_guard_is_child)
        return fault_set(&last, ML_ERR_STATE, "a forked child can't give up its parent's rank");
    return world_join_finalize(&last);
}

static const char *api_error(void)
{
    return last.text;
}

/* --- groups ------------------------------------------------------------------------------------
 */

static int api_rank(const ml_group *handle)
{
    const struct group *g = api_group(handle);
    int rc = check_handle(g, &last);

    return rc ? rc : g->rank;
}

static int api_size(const ml_group *handle)
{
    const struct group *g = api_group(handle);
    int rc = check_handle(g, &last);

    return rc ? rc : g->size;
}

/* Until group_look_end no other thread ends the group. */
static int api_look_begin(struct group *g)
{
    int rc = check_handle(g, &last);

    while (!rc && !group_look_begin(g))
        rc = check_handle(g, &last); /* it is gone by now */
    return rc;
}

static const char *api_host(const ml_group *handle, int rank)
{
    struct group *g = api_group(handle);
    const char *name = NULL;

    if (api_look_begin(g))
        return NULL;
    if (check_rank(g, rank, "rank", &last) == 0)
        name = g->world->host_names[g->host_of[rank]];
    group_look_end(g);
    return name;
}

static int api_split(ml_group *handle, int color, int key, ml_group **out)
{
    struct group *g = api_group(handle), *made = NULL;
    int rc = check_enter(g, "split", &last);

    if (rc)
        return rc;
    if (!out) {
        rc = fault_set(&last, ML_ERR_ARGUMENT, "out is NULL");
    } else {
        progress_settle(g);
        rc = call_begin(g, CALL_SPLIT, "split", 0, 0, 0, -1, &last);
    }
    if (!rc)
        rc = split_run(g, color, key, "split", &made, &last);
    group_release(g);
    if (!rc)
        *out = api_handle(made);
    return rc;
}

/* Stores the world ranks of these ranks of g in `members`. */
static int group_members(const struct group *g, const int *ranks, int count, int *members)
{
    bool has_me = false;

    for (int i = 0; i < count; i++) {
        int rc = check_rank(g, ranks[i], "a rank in ranks", &last);

        if (rc)
            return rc;
        has_me |= ranks[i] == g->rank;
        members[i] = g->members[ranks[i]];
        for (int k = 0; k < i; k++)
            if (ranks[k] == ranks[i])
                return fault_set(&last, ML_ERR_ARGUMENT, "rank %d is twice in ranks", ranks[i]);
    }
    return has_me ? 0
                  : fault_set(&last, ML_ERR_ARGUMENT,
                              "ranks lacks rank %d, which makes the call: only the members of the "
                              "new group make it",
                              g->rank);
}

/* The same, of arguments that have not been checked. */
static int group_create_members(const struct group *g, const int *ranks, int count, int timeout_ms,
                                ml_group *const *out, int **members)
{
    if (!out || !ranks || count < 1 || timeout_ms < 0)
        return fault_set(&last, ML_ERR_ARGUMENT,
                         !out     ? "out is NULL"
                         : !ranks ? "ranks is NULL"
                                  : "count is below 1, or timeout_ms below 0");
    if (count > g->size)
        return fault_set(&last, ML_ERR_ARGUMENT, "count is %d, and the group has %d ranks", count,
                         g->size);
    *members = calloc((size_t)count, sizeof(**members));
    if (!*members)
        return fault_set(&last, ML_ERR_MEMORY, "out of memory");
    return group_members(g, ranks, count, *members);
}

static int api_group_create(ml_group *handle, const int *ranks, int count, uint64_t tag,
                            int timeout_ms, ml_group **out)
{
    struct group *g = api_group(handle), *made = NULL;
    int rc = check_enter(g, "group_create", &last), *members = NULL;

    if (rc)
        return rc;
    rc = group_create_members(g, ranks, count, timeout_ms, out, &members);
    if (!rc) {
        progress_settle(g);
        rc = split_create_run(g, members, count, tag, timeout_ms, &made, &last);
    }
    group_release(g);
    free(members);
    if (!rc)
        *out = api_handle(made);
    return rc;
}

static void api_group_free(ml_group *handle)
{
    struct group *g = api_group(handle);
    struct fault why;

    if (!g || g->is_world || fork_guard_is_child || check_no_operator(&last) != 0)
        return;
    fault_set(&why, ML_ERR_STATE, "another thread, %d, has freed the group", thread_self());
    if (group_take(g, "group_free", &why))
        group_leave(g);
}

/* --- a world that changes ----------------------------------------------------------------------
 */

static int api_repair(ml_group *handle, ml_group **next, ml_change *change)
{
    struct group *g = api_group(handle), *made = NULL;
    int rc = check_enter(g, "repair", &last);

    if (rc)
        return rc;
    if (!next)
        rc = fault_set(&last, ML_ERR_ARGUMENT, "next is NULL");
    else if (!g->is_world)
        rc = fault_set(&last, ML_ERR_ARGUMENT, "ml_repair takes the world, not a group of it");
    else
        rc = repair_run(g, &made, change, &last);
    if (rc) /* else it is gone, and this thread has it no more */
        group_release(g);
    else
        *next = api_handle(made);
    return rc;
}

static int api_revoke(ml_group *handle, const char *why)
{
    struct group *g = api_group(handle);
    int rc = check_use(g, &last);

    if (rc)
        return rc;
    /* As a thread that ends the group: calls that come meanwhile wait, and then fail by this. */
    if (!group_hold_as(g, -thread_self(), "revoke")) {
        rc = api_look_begin(g);
        if (rc)
            return rc;
        repair_revoke(g, false, why);
        group_look_end(g);
        return 0;
    }
    rc = check_handle(g, &last);
    if (!rc)
        repair_revoke(g, true, why);
    group_release(g);
    return rc;
}

static int api_agree(ml_group *handle, uint64_t *value)
{
    struct group *g = api_group(handle);
    int rc = check_enter(g, "agree", &last);

    if (rc)
        return rc;
    progress_settle(g);
    rc = value ? repair_agree(g, value, &last) : fault_set(&last, ML_ERR_ARGUMENT, "value is NULL");
    group_release(g);
    return rc;
}

static int api_id(const ml_group *handle, int rank)
{
    struct group *g = api_group(handle);
    int rc = api_look_begin(g);

    if (rc)
        return rc;
    rc = check_rank(g, rank, "rank", &last);
    if (!rc)
        rc = g->members[rank];
    group_look_end(g);
    return rc;
}

static int api_changed(const ml_group *handle)
{
    struct group *g = api_group(handle);
    int rc = api_look_begin(g);

    if (rc)
        return rc;
    rc = coord_events_has_changed(g->world->coord_events);
    group_look_end(g);
    return rc;
}

/* --- memory that outlives ranks ----------------------------------------------------------------
 */

/* Checks what all these calls have in common, then begins one. */
static int api_keep_enter(struct group *g, const char *name, const char *call)
{
    int rc = check_enter(g, call, &last);

    if (rc)
        return rc;
    if (!g->is_world)
        rc = fault_set(&last, ML_ERR_ARGUMENT, "ml_%s takes the world, not a group of it", call);
    else
        rc = keep_check(g->world, name, &last);
    if (rc)
        group_release(g);
    return rc;
}

/* What ml_next_type and ml_next_stream have said of the memory; each holds for one call. */
static struct keep_memory api_keep_memory(struct group *g, size_t size)
{
    atomic_store(&g->next_site, NULL); /* nobody waits in it */
    return (struct keep_memory){size, atomic_exchange(&g->content, 0),
                                atomic_exchange(&g->next_stream, NULL)};
}

static int api_keep(ml_group *handle, const char *name, const void *memory, size_t size,
                    uint64_t version)
{
    struct group *g = api_group(handle);
    struct keep_memory m;
    int rc = api_keep_enter(g, name, "keep");

    if (rc)
        return rc;
    m = api_keep_memory(g, size);
    rc = check_buffer(memory, size, "memory", &last);
    if (!rc)
        rc = keep_stage_put(cuda_driver_now(), g->world, name, memory, &m, version, &last);
    group_release(g);
    return rc;
}

static int api_kept(ml_group *handle, const char *name, const int *ids, int count,
                    uint64_t *version)
{
    struct group *g = api_group(handle);
    int rc;

    if (!version)
        return fault_set(&last, ML_ERR_ARGUMENT, "version is NULL");
    rc = api_keep_enter(g, name, "kept");
    if (rc)
        return rc;
    progress_settle(g);
    rc = keep_agree(g, name, atomic_exchange(&g->next_site, NULL), ids, count, version, &last);
    group_release(g);
    return rc;
}

static int api_kept_size(ml_group *handle, const char *name, int id, size_t *size)
{
    struct group *g = api_group(handle);
    int rc;

    if (!size)
        return fault_set(&last, ML_ERR_ARGUMENT, "size is NULL");
    rc = api_keep_enter(g, name, "kept_size");
    if (rc)
        return rc;
    rc = keep_size(g->world, name, id, size, &last);
    group_release(g);
    return rc;
}

static int api_restore(ml_group *handle, const char *name, int id, void *memory, size_t size)
{
    struct group *g = api_group(handle);
    struct keep_memory m;
    int rc = api_keep_enter(g, name, "restore");

    if (rc)
        return rc;
    m = api_keep_memory(g, size);
    rc = check_buffer(memory, size, "memory", &last);
    if (!rc)
        rc = keep_stage_get(cuda_driver_now(), g->world, name, id, memory, &m, &last);
    group_release(g);
    return rc;
}

/* --- calls on a group --------------------------------------------------------------------------
 */

static int api_next_type(ml_group *handle, ml_type type)
{
    struct group *g = api_group(handle);
    int rc = check_handle(g, &last);

    if (!rc)
        rc = check_type(type, &last);
    if (rc)
        return rc;
    atomic_store_explicit(&g->content, type == ML_UINT8 ? 0 : (uint8_t)(1 + (int)type),
                          memory_order_relaxed);
    return 0;
}

static int api_next_place(ml_group *handle, const char *place)
{
    struct group *g = api_group(handle);
    int rc = check_handle(g, &last);

    if (!rc)
        atomic_store_explicit(&g->next_site, place, memory_order_relaxed);
    return rc;
}

/* The default stream has two names, of which NULL is not free here. */
static void *stream_handle(void *stream)
{
    return stream ? stream : (void *)(uintptr_t)CUDA_STREAM_LEGACY;
}

static int api_next_stream(ml_group *handle, void *stream)
{
    struct group *g = api_group(handle);
    int rc = check_handle(g, &last);

    if (!rc)
        atomic_store_explicit(&g->next_stream, stream_handle(stream), memory_order_relaxed);
    return rc;
}

static void api_take_next(struct group *g, struct task *t)
{
    t->content = atomic_load_explicit(&g->content, memory_order_relaxed);
    t->site = atomic_load_explicit(&g->next_site, memory_order_relaxed);
    t->stream = atomic_load_explicit(&g->next_stream, memory_order_relaxed);
    atomic_store_explicit(&g->content, 0, memory_order_relaxed);
    atomic_store_explicit(&g->next_site, NULL, memory_order_relaxed);
    atomic_store_explicit(&g->next_stream, NULL, memory_order_relaxed);
}

/* No other rank can send the message while this thread waits for it, so the call would never
 * end. */
static int api_check_self_receive(const struct group *g, const struct task *t)
{
    if (t->from != g->rank || t->to == g->rank || g->sent_itself > 0)
        return 0;
    return fault_set(&last, ML_ERR_ARGUMENT,
                     "rank %d receives from itself, but has sent itself nothing", g->rank);
}

static void api_count_self(struct group *g, const struct task *t)
{
    g->sent_itself += (t->to == g->rank) - (t->from == g->rank);
}

/* A message runs together with those that were started before it. */
static int api_run_message(struct group *g, const struct task *t)
{
    if (!t->tagged) {
        int rc = api_check_self_receive(g, t);

        if (rc)
            return rc;
        api_count_self(g, t);
    }
    return group_is_busy(g) ? request_run(g, t, &last) : task_run(g, t, &last);
}

/* A collective call waits until all that was started before it is done. */
static inline int api_run_task(struct group *g, const struct task *t)
{
    if (t->kind == CALL_SEND)
        return api_run_message(g, t);
    if (group_is_busy(g))
        progress_settle(g);
    return task_run(g, t, &last);
}

static __attribute__((noinline, cold)) int api_run_staged(struct group *g, const struct task *t,
                                                          const struct cuda_driver *driver)
{
    struct task_stage stage;
    int rc = task_stage_open(&stage, g, t, driver, &last);

    if (rc)
        return rc;
    rc = api_run_task(g, &stage.task);
    return task_stage_close(&stage, g, &stage.task, rc, &last);
}

static int api_run(ml_group *handle, struct task *t)
{
    struct group *g = api_group(handle);
    const struct cuda_driver *driver;
    int rc;

    rc = check_enter(g, t->name, &last);
    if (rc)
        return rc;
    api_take_next(g, t);
    rc = task_check(g, t, &last);
    if (!rc) {
        driver = cuda_driver_now();
        rc =
            __builtin_expect(driver != NULL, 0) ? api_run_staged(g, t, driver) : api_run_task(g, t);
    }
    group_release(g);
    return rc;
}

/* What should_stop's all_reduce has the greatest of; 0: no. */
enum { STOP_ASKED = 1, STOP_UNKNOWN };

/* What one host has heard, all ranks hear by the same call, and also that one rank can't hear. */
static int api_should_stop(ml_group *handle)
{
    struct group *g = api_group(handle);
    uint8_t asked = 0;
    struct task t = {.kind = CALL_ALL_REDUCE,
                     .name = "should_stop",
                     .in = &asked,
                     .out = &asked,
                     .count = 1,
                     .type = ML_UINT8,
                     .op = ML_MAX,
                     .root = -1};
    struct fault own = {0};
    int rc = api_look_begin(g);

    if (rc)
        return rc;
    if (g->world->is_launched)
        rc = stop_mark_map_read(g->world->dir, &own);
    group_look_end(g);
    asked = rc < 0 ? STOP_UNKNOWN : rc ? STOP_ASKED : 0;
    rc = api_run(handle, &t);
    if (rc || asked != STOP_UNKNOWN)
        return rc ? rc : asked;
    if (own.code)
        last = own;
    else
        fault_set(&last, ML_ERR_SYSTEM,
                  "another rank can't hear whether the job is to stop: its ml_should_stop has "
                  "failed too, and says why");
    return ML_ERR_SYSTEM;
}

/* The request closes and frees the stage. */
static __attribute__((noinline, cold)) int api_start_staged(struct request **made, struct group *g,
                                                            const struct task *t,
                                                            const struct cuda_driver *driver)
{
    struct task_stage *stage = malloc(sizeof(*stage));
    struct task staged;
    int rc;

    if (!stage)
        return fault_set(&last, ML_ERR_MEMORY, "out of memory");
    rc = task_stage_open(stage, g, t, driver, &last);
    if (!rc) {
        staged = stage->task;
        staged.stage = stage;
        rc = request_start(made, g, &staged, &last);
        if (rc)
            task_stage_drop(stage);
    }
    if (rc)
        free(stage);
    return rc;
}

static int api_start(ml_group *handle, struct task *t, ml_request **out)
{
    struct group *g = api_group(handle);
    const struct cuda_driver *driver = cuda_driver_now();
    struct request *made = NULL;
    int rc;

    rc = check_enter(g, t->name, &last);
    if (rc) {
        if (out)
            *out = NULL;
        return rc;
    }
    api_take_next(g, t);
    rc = out ? task_check(g, t, &last) : fault_set(&last, ML_ERR_ARGUMENT, "request is NULL");
    if (!rc)
        rc = driver ? api_start_staged(&made, g, t, driver) : request_start(&made, g, t, &last);
    if (!rc && t->kind == CALL_SEND && !t->tagged)
        api_count_self(g, t);
    group_release(g);
    if (out)
        *out = (ml_request *)made;
    return rc;
}

/* --- requests ----------------------------------------------------------------------------------
 */

static int api_test(ml_request *handle, int *done)
{
    struct request *r = (struct request *)handle;
    bool is_done = true;
    int rc = 0;

    if (!done)
        return fault_set(&last, ML_ERR_ARGUMENT, "done is NULL");
    if (r)
        rc = request_test(r, &is_done, &last);
    *done = is_done;
    return rc;
}

static int api_wait(ml_request *handle)
{
    return handle ? request_wait((struct request *)handle, &last) : 0;
}

/* --- memory ------------------------------------------------------------------------------------
 */

static int api_alloc(size_t size, void **out)
{
    return alloc_take(size, out, &last);
}

/* What peers still write must not become another allocation's. */
static bool api_is_free(const void *memory)
{
    if (!memory || !alloc_is_pinned(memory))
        return true;
    fault_set(&last, ML_ERR_STATE,
              "the memory at %p is a window's: free the window first (ml_window_free)", memory);
    return false;
}

static void api_free(void *memory)
{
    if (api_is_free(memory))
        alloc_give(memory);
}

/* --- pools -------------------------------------------------------------------------------------
 */

static struct pool *api_pool(ml_pool *handle)
{
    if (!handle)
        fault_set(&last, ML_ERR_ARGUMENT, "pool is NULL");
    return (struct pool *)handle;
}

static int api_pool_create(size_t size, size_t alignment, ml_pool **out)
{
    struct pool *made;
    int rc;

    if (!out)
        return fault_set(&last, ML_ERR_ARGUMENT, "out is NULL");
    rc = pool_create(&made, size, alignment, &last);
    if (!rc)
        *out = (ml_pool *)made;
    return rc;
}

static int api_pool_create_at(void *memory, size_t size, size_t alignment, ml_pool **out)
{
    struct pool *made;
    int rc = check_buffer(memory, size, "memory", &last);

    if (!rc && !out)
        rc = fault_set(&last, ML_ERR_ARGUMENT, "out is NULL");
    if (!rc)
        rc = pool_create_at(&made, memory, size, alignment, &last);
    if (!rc)
        *out = (ml_pool *)made;
    return rc;
}

static void api_pool_destroy(ml_pool *handle)
{
    struct pool *p = (struct pool *)handle;
    size_t size;

    if (p && (pool_is_foreign(p) || api_is_free(pool_memory(p, &size))))
        pool_destroy(p);
}

static int api_pool_alloc(ml_pool *handle, size_t size, void **out)
{
    struct pool *p = api_pool(handle);

    if (!p)
        return ML_ERR_ARGUMENT;
    if (!out)
        return fault_set(&last, ML_ERR_ARGUMENT, "out is NULL");
    return pool_take(p, size, out, &last);
}

static int api_pool_free(ml_pool *handle, void *block)
{
    struct pool *p = api_pool(handle);

    return p ? pool_give(p, block, &last) : ML_ERR_ARGUMENT;
}

static void *api_pool_memory(ml_pool *handle, size_t *size)
{
    const struct pool *p = api_pool(handle);

    if (p && !size)
        fault_set(&last, ML_ERR_ARGUMENT, "size is NULL");
    return p && size ? pool_memory(p, size) : NULL;
}

static int api_pool_left(ml_pool *handle, size_t *left, size_t *longest)
{
    struct pool *p = api_pool(handle);

    if (!p)
        return ML_ERR_ARGUMENT;
    if (!left || !longest)
        return fault_set(&last, ML_ERR_ARGUMENT, "%s is NULL", left ? "longest" : "left");
    return pool_left(p, left, longest, &last);
}

/* --- windows -----------------------------------------------------------------------------------
 */

static struct window *api_window(ml_window *w)
{
    return (struct window *)w;
}

static int api_window_create(ml_group *handle, void *memory, size_t size, ml_window **out)
{
    struct group *g = api_group(handle);
    struct window *made = NULL;
    struct gpu_part *gpu = NULL;
    char who[GROUP_MEMBER_TEXT];
    void *stream;
    int rc = check_enter(g, "window_create", &last);

    if (rc)
        return rc;
    stream = atomic_exchange(&g->next_stream, NULL);
    rc = out ? window_check_memory(cuda_driver_now(), stream, memory, size, &gpu, &last)
             : fault_set(&last, ML_ERR_ARGUMENT, "out is NULL");
    if (rc && rc != ML_ERR_DEVICE && rc != ML_ERR_MEMORY) {
        group_release(g);
        return rc;
    }
    progress_settle(g);
    if (rc) { /* the others wait in this call for a rank that will not come */
        fault_wrap(&last, "%s: %s", group_describe(g, g->rank, who), "window_create");
        call_fail(g, &last);
    } else {
        rc = call_begin(g, CALL_WINDOW, "window_create", 0, 0, 0, -1, &last);
    }
    if (rc)
        gpu_part_close(gpu);
    else
        rc = window_join_create(&made, g, memory, size, gpu, &last);
    group_release(g);
    if (!rc)
        *out = (ml_window *)made;
    return rc;
}

static int api_window_free(ml_window *handle)
{
    struct window *w = api_window(handle);
    int rc = check_no_operator(&last);

    if (rc)
        return rc;
    rc = w ? window_check(w, &last) : 0;
    return window_is_usable(w) ? window_join_free(w, &last) : rc;
}

static void *api_window_memory(ml_window *handle, int rank, size_t *size)
{
    struct window *w = api_window(handle);

    window_check(w, &last);
    if (!window_is_usable(w) || check_rank(w->group, rank, "rank", &last) != 0)
        return NULL;
    if (size)
        *size = w->parts[rank].size;
    return w->parts[rank].memory;
}

/* Many threads use a window, so a name is that of the thread that gives it. */
static _Thread_local struct {
    const ml_window *window;
    void *stream;
} next_stream;

static int api_next_window_stream(ml_window *w, void *stream)
{
    int rc = window_check(api_window(w), &last);

    if (rc || !cuda_driver_now())
        return rc;
    next_stream.window = w;
    next_stream.stream = stream_handle(stream);
    return 0;
}

static struct stage_gpu api_gpu(const struct cuda_driver *driver, const ml_window *w)
{
    struct stage_gpu gpu = {.driver = driver};

    if (next_stream.window == w) {
        gpu.stream = next_stream.stream;
        next_stream.window = NULL;
    }
    return gpu;
}

static int api_put(ml_window *w, const void *from, size_t size, int to, size_t offset)
{
    const struct cuda_driver *driver = cuda_driver_now();

    if (__builtin_expect(driver != NULL, 0))
        return window_stage_put(api_gpu(driver, w), api_window(w), from, size, to, offset, NULL,
                                &last);
    return window_put(api_window(w), from, size, to, offset, &last);
}

static int api_get(ml_window *w, void *into, size_t size, int from, size_t offset)
{
    const struct cuda_driver *driver = cuda_driver_now();

    if (__builtin_expect(driver != NULL, 0))
        return window_stage_get(api_gpu(driver, w), api_window(w), into, size, from, offset, NULL,
                                &last);
    return window_get(api_window(w), into, size, from, offset, &last);
}

static int api_start_put(ml_window *w, const void *from, size_t size, int to, size_t offset,
                         ml_request **request)
{
    const struct cuda_driver *driver = cuda_driver_now();
    struct request **made = (struct request **)request;

    if (!request)
        return fault_set(&last, ML_ERR_ARGUMENT, "request is NULL");
    *request = NULL;
    if (driver)
        return window_stage_put(api_gpu(driver, w), api_window(w), from, size, to, offset, made,
                                &last);
    return window_start_put(api_window(w), from, size, to, offset, made, &last);
}

static int api_start_get(ml_window *w, void *into, size_t size, int from, size_t offset,
                         ml_request **request)
{
    const struct cuda_driver *driver = cuda_driver_now();
    struct request **made = (struct request **)request;

    if (!request)
        return fault_set(&last, ML_ERR_ARGUMENT, "request is NULL");
    *request = NULL;
    if (driver)
        return window_stage_get(api_gpu(driver, w), api_window(w), into, size, from, offset, made,
                                &last);
    return window_start_get(api_window(w), into, size, from, offset, made, &last);
}

static int api_put_signal(ml_window *w, const void *from, size_t size, int to, size_t offset,
                          size_t signal_offset, uint64_t add)
{
    const struct cuda_driver *driver = cuda_driver_now();

    if (__builtin_expect(driver != NULL, 0))
        return window_stage_put_signal(api_gpu(driver, w), api_window(w), from, size, to, offset,
                                       signal_offset, add, &last);
    return window_put_signal(api_window(w), from, size, to, offset, signal_offset, add, &last);
}

static int api_wait_signal(ml_window *w, size_t signal_offset, uint64_t at_least, int timeout_ms)
{
    return window_wait_signal(api_window(w), signal_offset, at_least, timeout_ms, &last);
}

static int api_flush(ml_window *w, int to)
{
    return window_flush(api_window(w), to, &last);
}

static int api_fetch_add(ml_window *w, int at, size_t offset, uint64_t add, uint64_t *old)
{
    return window_fetch_add(api_window(w), at, offset, add, old, &last);
}

static int api_compare_swap(ml_window *w, int at, size_t offset, uint64_t expected, uint64_t wanted,
                            uint64_t *old)
{
    return window_compare_swap(api_window(w), at, offset, expected, wanted, old, &last);
}

const struct runtime_table api_table = {
    .build = build_id,
    .init = api_init,
    .init_eager = api_init_eager,
    .finalize = api_finalize,
    .rank = api_rank,
    .size = api_size,
    .host = api_host,
    .error = api_error,
    .abort = abort_job,
    .split = api_split,
    .group_create = api_group_create,
    .group_free = api_group_free,
    .repair = api_repair,
    .revoke = api_revoke,
    .agree = api_agree,
    .id = api_id,
    .changed = api_changed,
    .keep = api_keep,
    .kept = api_kept,
    .kept_size = api_kept_size,
    .restore = api_restore,
    .next_type = api_next_type,
    .next_place = api_next_place,
    .next_stream = api_next_stream,
    .alloc = api_alloc,
    .free = api_free,
    .pool_create = api_pool_create,
    .pool_create_at = api_pool_create_at,
    .pool_destroy = api_pool_destroy,
    .pool_alloc = api_pool_alloc,
    .pool_free = api_pool_free,
    .pool_memory = api_pool_memory,
    .pool_left = api_pool_left,
    .run = api_run,
    .start = api_start,
    .test = api_test,
    .wait = api_wait,
    .should_stop = api_should_stop,
    .window_create = api_window_create,
    .window_free = api_window_free,
    .window_memory = api_window_memory,
    .next_window_stream = api_next_window_stream,
    .put = api_put,
    .get = api_get,
    .start_put = api_start_put,
    .start_get = api_start_get,
    .put_signal = api_put_signal,
    .wait_signal = api_wait_signal,
    .flush = api_flush,
    .fetch_add = api_fetch_add,
    .compare_swap = api_compare_swap,
};

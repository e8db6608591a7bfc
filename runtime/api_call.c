/* SPDX-License-Identifier: MIT */
#include "runtime/api_call.h"

#include "runtime/api_group.h"
#include "runtime/api_last.h"
#include "runtime/call/check.h"
#include "runtime/call/progress.h"
#include "runtime/call/request.h"
#include "runtime/call/task_run.h"
#include "runtime/call/task_stage.h"
#include "runtime/gpu/cuda_driver.h"
#include "runtime/group/world.h"
#include "runtime/world/stop_mark_map.h"

#include <stdlib.h>

int api_call_next_type(ml_group *handle, ml_type type)
{
    struct group *g = api_group_of(handle);
    int rc = check_handle(g, &api_last);

    if (!rc)
        rc = check_type(type, &api_last);
    if (rc)
        return rc;
    atomic_store_explicit(&g->next.content, type == ML_UINT8 ? 0 : (uint8_t)(1 + (int)type),
                          memory_order_relaxed);
    return 0;
}

int api_call_next_place(ml_group *handle, const char *place)
{
    struct group *g = api_group_of(handle);
    int rc = check_handle(g, &api_last);

    if (!rc)
        atomic_store_explicit(&g->next.site, place, memory_order_relaxed);
    return rc;
}

int api_call_next_stream(ml_group *handle, void *stream)
{
    struct group *g = api_group_of(handle);
    int rc = check_handle(g, &api_last);

    if (!rc)
        atomic_store_explicit(&g->next.stream, cuda_stream_handle(stream), memory_order_relaxed);
    return rc;
}

static void call_take_next(struct group *g, struct task *t)
{
    t->content = atomic_load_explicit(&g->next.content, memory_order_relaxed);
    t->site = atomic_load_explicit(&g->next.site, memory_order_relaxed);
    t->stream = atomic_load_explicit(&g->next.stream, memory_order_relaxed);
    atomic_store_explicit(&g->next.content, 0, memory_order_relaxed);
    atomic_store_explicit(&g->next.site, NULL, memory_order_relaxed);
    atomic_store_explicit(&g->next.stream, NULL, memory_order_relaxed);
}

/* No other rank can send the message while this thread waits for it, so the call would never
 * end. */
static int call_check_self_receive(const struct group *g, const struct task *t)
{
    if (t->from != g->rank || t->to == g->rank || g->sent_itself > 0)
        return 0;
    return fault_set(&api_last, ML_ERR_ARGUMENT,
                     "rank %d receives from itself, but has sent itself nothing", g->rank);
}

static void call_count_self(struct group *g, const struct task *t)
{
    g->sent_itself += (t->to == g->rank) - (t->from == g->rank);
}

/* A message runs together with those that were started before it. */
static int call_run_message(struct group *g, const struct task *t)
{
    if (!t->tagged) {
        int rc = call_check_self_receive(g, t);

        if (rc)
            return rc;
        call_count_self(g, t);
    }
    return group_is_busy(g) ? request_run(g, t, &api_last) : task_run(g, t, &api_last);
}

/* A collective call waits until all that was started before it is done. */
static inline int call_run_task(struct group *g, const struct task *t)
{
    if (t->kind == CALL_SEND)
        return call_run_message(g, t);
    if (group_is_busy(g))
        progress_settle(g);
    return task_run(g, t, &api_last);
}

static __attribute__((noinline, cold)) int call_run_staged(struct group *g, const struct task *t,
                                                           const struct cuda_driver *driver)
{
    struct task_stage stage;
    int rc = task_stage_open(&stage, g, t, driver, &api_last);

    if (rc)
        return rc;
    rc = call_run_task(g, &stage.task);
    return task_stage_close(&stage, g, &stage.task, rc, &api_last);
}

int api_call_run(ml_group *handle, struct task *t)
{
    struct group *g = api_group_of(handle);
    const struct cuda_driver *driver;
    int rc;

    rc = check_enter(g, t->name, &api_last);
    if (rc)
        return rc;
    call_take_next(g, t);
    rc = task_check(g, t, &api_last);
    if (!rc) {
        driver = cuda_driver_now();
        rc = __builtin_expect(driver != NULL, 0) ? call_run_staged(g, t, driver)
                                                 : call_run_task(g, t);
    }
    group_release(g);
    return rc;
}

/* What should_stop's all_reduce has the greatest of; 0: no. */
enum { STOP_ASKED = 1, STOP_UNKNOWN };

/* What one host has heard, all ranks hear by the same call, and also that one rank can't hear. */
int api_call_should_stop(ml_group *handle)
{
    struct group *g = api_group_of(handle);
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
    int rc = api_group_look_begin(g);

    if (rc)
        return rc;
    if (g->world->is_launched)
        rc = stop_mark_map_read(g->world->dir, &own);
    group_look_end(g);
    asked = rc < 0 ? STOP_UNKNOWN : rc ? STOP_ASKED : 0;
    rc = api_call_run(handle, &t);
    if (rc || asked != STOP_UNKNOWN)
        return rc ? rc : asked;
    if (own.code)
        api_last = own;
    else
        fault_set(&api_last, ML_ERR_SYSTEM,
                  "another rank can't hear whether the job is to stop: its ml_should_stop has "
                  "failed too, and says why");
    return ML_ERR_SYSTEM;
}

/* The request closes and frees the stage. */
static __attribute__((noinline, cold)) int call_start_staged(struct request **made, struct group *g,
                                                             const struct task *t,
                                                             const struct cuda_driver *driver)
{
    struct task_stage *stage = malloc(sizeof(*stage));
    struct task staged;
    int rc;

    if (!stage)
        return fault_set(&api_last, ML_ERR_MEMORY, "out of memory");
    rc = task_stage_open(stage, g, t, driver, &api_last);
    if (!rc) {
        staged = stage->task;
        staged.stage = stage;
        rc = request_start(made, g, &staged, &api_last);
        if (rc)
            task_stage_drop(stage);
    }
    if (rc)
        free(stage);
    return rc;
}

int api_call_start(ml_group *handle, struct task *t, ml_request **out)
{
    struct group *g = api_group_of(handle);
    const struct cuda_driver *driver = cuda_driver_now();
    struct request *made = NULL;
    int rc;

    rc = check_enter(g, t->name, &api_last);
    if (rc) {
        if (out)
            *out = NULL;
        return rc;
    }
    call_take_next(g, t);
    rc = out ? task_check(g, t, &api_last)
             : fault_set(&api_last, ML_ERR_ARGUMENT, "request is NULL");
    if (!rc)
        rc =
            driver ? call_start_staged(&made, g, t, driver) : request_start(&made, g, t, &api_last);
    if (!rc && t->kind == CALL_SEND && !t->tagged)
        call_count_self(g, t);
    group_release(g);
    if (out)
        *out = (ml_request *)made;
    return rc;
}

int api_call_test(ml_request *handle, int *done)
{
    struct request *r = (struct request *)handle;
    bool is_done = true;
    int rc = 0;

    if (!done)
        return fault_set(&api_last, ML_ERR_ARGUMENT, "done is NULL");
    if (r)
        rc = request_test(r, &is_done, &api_last);
    *done = is_done;
    return rc;
}

int api_call_wait(ml_request *handle)
{
    return handle ? request_wait((struct request *)handle, &api_last) : 0;
}

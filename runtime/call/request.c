/* SPDX-License-Identifier: MIT */
#include "runtime/call/request.h"

#include "runtime/call/check.h"
#include "runtime/call/progress.h"
#include "runtime/call/task_stage.h"
#include "runtime/process/fork_guard.h"

#include <stdlib.h>
#include <string.h>

static void request_free(struct request *r)
{
    progress_let_go(r);
    if (r->task.stage)
        task_stage_drop(r->task.stage);
    free(r->task.stage);
    free(r->copy);
    free(r);
}

/* The program may free its arrays as soon as the call is started. */
static bool request_keep_shares(struct request *r)
{
    size_t ranks = (size_t)r->group->size, size = ranks * sizeof(size_t);
    const size_t **each[4];
    struct task_shares *own = malloc(sizeof(*own) + 4 * size);
    size_t *room;

    if (!own)
        return false;
    room = (size_t *)(own + 1);
    *own = *r->task.shares;
    each[0] = &own->in_sizes, each[1] = &own->in_offsets;
    each[2] = &own->out_sizes, each[3] = &own->out_offsets;
    for (int i = 0; i < 4; i++, room += ranks)
        if (*each[i])
            *each[i] = memcpy(room, *each[i], size);
    r->copy = own;
    r->task.shares = own;
    return true;
}

static bool request_keep_operator(struct request *r)
{
    ml_operator *own = malloc(sizeof(*own));

    if (!own)
        return false;
    *own = *r->task.with;
    r->copy = own;
    r->task.with = own;
    return true;
}

static int request_create(struct request **out, struct group *g, const struct task *t,
                          struct fault *why)
{
    struct request *r = calloc(1, sizeof(*r));
    const void *in = t->in;

    if (!r)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    r->task = *t;
    r->group = g;
    if ((t->shares && !request_keep_shares(r)) || (t->with && !request_keep_operator(r))) {
        free(r);
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    }
    if (t->kind == CALL_SEND && task_is_in_place(t)) {
        r->copy = malloc(t->count);
        if (!r->copy) {
            free(r);
            return fault_set(why, ML_ERR_MEMORY,
                             "out of memory: no %zu bytes for a copy of what is sent", t->count);
        }
        in = memcpy(r->copy, in, t->count);
    }
    if (t->kind == CALL_SEND)
        r->op_count = task_message_ops(t, in, r->ops);
    if (task_receives_tag(t))
        r->receive = task_receive(t);
    else if (t->tagged)
        r->receive.found = (ml_status){ML_NOBODY, ML_ANY, 0};
    *out = r;
    return 0;
}

int request_start(struct request **out, struct group *g, const struct task *t, struct fault *why)
{
    struct request *r = NULL;
    int rc = group_is_busy(g) ? 0 : g->broken.code;

    if (rc) {
        *why = g->broken;
        return rc;
    }
    rc = request_create(&r, g, t, why);
    if (rc)
        return rc;
    rc = progress_add(r, why);
    if (rc)
        request_free(r);
    else
        *out = r;
    return rc;
}

/* A forked child has a copy of the request, in which the parent's thread can't mark it as done. */
static int request_check(struct fault *why)
{
    if (!fork_guard_is_child)
        return check_no_operator(why);
    return fault_set(why, ML_ERR_STATE,
                     "a forked child can't wait for what its parent has started");
}

/* For a request that is done. */
static void request_finish(struct request *r)
{
    if (r->finish && !r->result.code)
        r->finish(r);
    r->finish = NULL;
}

int request_test(struct request *r, bool *done, struct fault *why)
{
    int rc = request_check(why);

    if (!rc && r->progress && !atomic_load_explicit(&r->is_done, memory_order_acquire))
        r->progress(r);
    *done = !rc && atomic_load_explicit(&r->is_done, memory_order_acquire);
    if (*done)
        request_finish(r);
    if (!*done || !r->result.code)
        return rc;
    *why = r->result;
    return why->code;
}

int request_wait(struct request *r, struct fault *why)
{
    int rc = request_check(why);

    if (rc)
        return rc;
    if (!atomic_load_explicit(&r->is_done, memory_order_acquire))
        (r->await ? r->await : progress_await)(r);
    request_finish(r);
    rc = r->result.code;
    if (rc)
        *why = r->result;
    request_free(r);
    return rc;
}

int request_run(struct group *g, const struct task *t, struct fault *why)
{
    struct request *r = NULL;
    int rc = request_start(&r, g, t, why);

    return rc ? rc : request_wait(r, why);
}

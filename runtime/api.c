/* SPDX-License-Identifier: MIT */
/* api.c: the calls of mlaunch.h: arguments are checked, the call begins, is carried out, and ends.
 */
#include "runtime/api.h"

#include "common/build_id.h"
#include "runtime/abort.h"
#include "runtime/call/call.h"
#include "runtime/call/check.h"
#include "runtime/call/progress.h"
#include "runtime/call/request.h"
#include "runtime/call/task.h"
#include "runtime/group_join.h"
#include "runtime/process/alloc.h"
#include "runtime/process/fork_guard.h"
#include "runtime/split.h"
#include "runtime/world_join.h"

/* ml_error's. */
static _Thread_local struct fault last;

static struct group *group_of(const ml_group *g)
{
    return (struct group *)(uintptr_t)g;
}

static ml_group *handle_of(struct group *g)
{
    return (ml_group *)g;
}

/* --- the job -----------------------------------------------------------------------------------
 */

static int api_join(ml_group **out, bool eager)
{
    struct world *w;
    int rc;

    if (fork_guard_is_child)
        return fault_set(&last, ML_ERR_STATE,
                         "the process that forked this one holds rank; a forked child can't be a "
                         "rank, unless it executes another program after the parent has left");
    rc = world_join_init(&w, eager, &last);
    if (!rc && out)
        *out = handle_of(w->group);
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
    return handle ? group_of(handle)->rank : fault_set(&last, ML_ERR_ARGUMENT, "the group is NULL");
}

static int api_size(const ml_group *handle)
{
    return handle ? group_of(handle)->size : fault_set(&last, ML_ERR_ARGUMENT, "the group is NULL");
}

static const char *api_host(const ml_group *handle, int rank)
{
    const struct group *g = group_of(handle);

    if (!g || check_rank(g, rank, "rank", &last) != 0)
        return NULL;
    return g->world->host_names[g->host_of[rank]];
}

static int api_split(ml_group *handle, int color, int key, ml_group **out)
{
    struct group *g = group_of(handle), *made = NULL;
    int rc = check_group(g, &last);

    if (rc)
        return rc;
    if (!out)
        return fault_set(&last, ML_ERR_ARGUMENT, "out is NULL");
    progress_settle(g);
    rc = call_begin(g, CALL_SPLIT, "split", 0, 0, 0, -1, &last);
    if (!rc)
        rc = split_run(g, color, key, &made, &last);
    if (!rc)
        *out = handle_of(made);
    return rc;
}

static void api_group_free(ml_group *handle)
{
    struct group *g = group_of(handle);

    if (g && g != g->world->group && !fork_guard_is_child)
        group_leave(g);
}

/* --- calls -------------------------------------------------------------------------------------
 * Each as data, made from its arguments: the blocking form and the one that is started share it.
 */

static struct task reducing(enum call_kind kind, const char *name, const void *in, void *out,
                            size_t count, ml_type type, ml_op op, int root)
{
    return (struct task){.kind = kind,
                         .name = name,
                         .in = in,
                         .out = out,
                         .count = count,
                         .type = type,
                         .op = op,
                         .root = root};
}

static struct task moving(enum call_kind kind, const char *name, const void *in, void *out,
                          size_t size, int root)
{
    return (struct task){
        .kind = kind, .name = name, .in = in, .out = out, .count = size, .root = root};
}

static struct task messaging(const char *name, const void *out, size_t out_size, int to, void *in,
                             size_t in_size, int from)
{
    return (struct task){.kind = CALL_SEND,
                         .name = name,
                         .in = out,
                         .out = in,
                         .count = out_size,
                         .root = -1,
                         .to = to,
                         .from = from,
                         .out_size = in_size};
}

/* Collective: what was started before comes first. */
static int api_do(ml_group *handle, const struct task *t)
{
    struct group *g = group_of(handle);
    int rc = task_check(g, t, &last);

    if (rc)
        return rc;
    if (group_is_busy(g))
        progress_settle(g);
    return task_run(g, t, &last);
}

/* Nobody else can send it while this thread waits: refused instead of waiting for ever. */
static int check_self_receive(const struct group *g, const struct task *t)
{
    if (t->from != g->rank || t->to == g->rank || g->sent_itself > 0)
        return 0;
    return fault_set(&last, ML_ERR_ARGUMENT,
                     "rank %d receives from itself, but has sent itself nothing", g->rank);
}

static void count_self(struct group *g, const struct task *t)
{
    g->sent_itself += (t->to == g->rank) - (t->from == g->rank);
}

/* Point to point: together with the messages that were started before. */
static int api_exchange(ml_group *handle, const struct task *t)
{
    struct group *g = group_of(handle);
    int rc = task_check(g, t, &last);

    if (!rc)
        rc = check_self_receive(g, t);
    if (rc)
        return rc;
    count_self(g, t);
    return group_is_busy(g) ? request_run(g, t, &last) : task_run(g, t, &last);
}

static int api_start(ml_group *handle, const struct task *t, ml_request **out)
{
    struct group *g = group_of(handle);
    struct request *made = NULL;
    int rc;

    if (!out)
        return fault_set(&last, ML_ERR_ARGUMENT, "request is NULL");
    rc = task_check(g, t, &last);
    if (!rc)
        rc = request_start(&made, g, t, &last);
    if (!rc && t->kind == CALL_SEND)
        count_self(g, t);
    *out = (ml_request *)made;
    return rc;
}

static int api_all_reduce(ml_group *handle, const void *in, void *out, size_t count, ml_type type,
                          ml_op op)
{
    struct task t = reducing(CALL_ALL_REDUCE, "all_reduce", in, out, count, type, op, -1);

    return api_do(handle, &t);
}

static int api_start_all_reduce(ml_group *handle, const void *in, void *out, size_t count,
                                ml_type type, ml_op op, ml_request **request)
{
    struct task t = reducing(CALL_ALL_REDUCE, "all_reduce", in, out, count, type, op, -1);

    return api_start(handle, &t, request);
}

static int api_reduce_scatter(ml_group *handle, const void *in, void *out, size_t count,
                              ml_type type, ml_op op)
{
    struct task t = reducing(CALL_REDUCE_SCATTER, "reduce_scatter", in, out, count, type, op, -1);

    return api_do(handle, &t);
}

static int api_start_reduce_scatter(ml_group *handle, const void *in, void *out, size_t count,
                                    ml_type type, ml_op op, ml_request **request)
{
    struct task t = reducing(CALL_REDUCE_SCATTER, "reduce_scatter", in, out, count, type, op, -1);

    return api_start(handle, &t, request);
}

static int api_reduce(ml_group *handle, const void *in, void *out, size_t count, ml_type type,
                      ml_op op, int root)
{
    struct task t = reducing(CALL_REDUCE, "reduce", in, out, count, type, op, root);

    return api_do(handle, &t);
}

static int api_start_reduce(ml_group *handle, const void *in, void *out, size_t count, ml_type type,
                            ml_op op, int root, ml_request **request)
{
    struct task t = reducing(CALL_REDUCE, "reduce", in, out, count, type, op, root);

    return api_start(handle, &t, request);
}

static int api_all_gather(ml_group *handle, const void *in, void *out, size_t size)
{
    struct task t = moving(CALL_ALL_GATHER, "all_gather", in, out, size, -1);

    return api_do(handle, &t);
}

static int api_start_all_gather(ml_group *handle, const void *in, void *out, size_t size,
                                ml_request **request)
{
    struct task t = moving(CALL_ALL_GATHER, "all_gather", in, out, size, -1);

    return api_start(handle, &t, request);
}

static int api_all_to_all(ml_group *handle, const void *in, void *out, size_t size)
{
    struct task t = moving(CALL_ALL_TO_ALL, "all_to_all", in, out, size, -1);

    return api_do(handle, &t);
}

static int api_start_all_to_all(ml_group *handle, const void *in, void *out, size_t size,
                                ml_request **request)
{
    struct task t = moving(CALL_ALL_TO_ALL, "all_to_all", in, out, size, -1);

    return api_start(handle, &t, request);
}

static int api_broadcast(ml_group *handle, void *buf, size_t size, int root)
{
    struct task t = moving(CALL_BROADCAST, "broadcast", NULL, buf, size, root);

    return api_do(handle, &t);
}

static int api_start_broadcast(ml_group *handle, void *buf, size_t size, int root,
                               ml_request **request)
{
    struct task t = moving(CALL_BROADCAST, "broadcast", NULL, buf, size, root);

    return api_start(handle, &t, request);
}

static int api_gather(ml_group *handle, const void *in, void *out, size_t size, int root)
{
    struct task t = moving(CALL_GATHER, "gather", in, out, size, root);

    return api_do(handle, &t);
}

static int api_start_gather(ml_group *handle, const void *in, void *out, size_t size, int root,
                            ml_request **request)
{
    struct task t = moving(CALL_GATHER, "gather", in, out, size, root);

    return api_start(handle, &t, request);
}

static int api_scatter(ml_group *handle, const void *in, void *out, size_t size, int root)
{
    struct task t = moving(CALL_SCATTER, "scatter", in, out, size, root);

    return api_do(handle, &t);
}

static int api_start_scatter(ml_group *handle, const void *in, void *out, size_t size, int root,
                             ml_request **request)
{
    struct task t = moving(CALL_SCATTER, "scatter", in, out, size, root);

    return api_start(handle, &t, request);
}

static int api_barrier(ml_group *handle)
{
    struct task t = moving(CALL_BARRIER, "barrier", NULL, NULL, 0, -1);

    return api_do(handle, &t);
}

static int api_start_barrier(ml_group *handle, ml_request **request)
{
    struct task t = moving(CALL_BARRIER, "barrier", NULL, NULL, 0, -1);

    return api_start(handle, &t, request);
}

static int api_send(ml_group *handle, const void *buf, size_t size, int to)
{
    struct task t = messaging("send", buf, size, to, NULL, 0, ML_NOBODY);

    return api_exchange(handle, &t);
}

static int api_start_send(ml_group *handle, const void *buf, size_t size, int to,
                          ml_request **request)
{
    struct task t = messaging("send", buf, size, to, NULL, 0, ML_NOBODY);

    return api_start(handle, &t, request);
}

static int api_recv(ml_group *handle, void *buf, size_t size, int from)
{
    struct task t = messaging("recv", NULL, 0, ML_NOBODY, buf, size, from);

    return api_exchange(handle, &t);
}

static int api_start_recv(ml_group *handle, void *buf, size_t size, int from, ml_request **request)
{
    struct task t = messaging("recv", NULL, 0, ML_NOBODY, buf, size, from);

    return api_start(handle, &t, request);
}

static int api_sendrecv(ml_group *handle, const void *out, size_t out_size, int to, void *in,
                        size_t in_size, int from)
{
    struct task t = messaging("sendrecv", out, out_size, to, in, in_size, from);

    return api_exchange(handle, &t);
}

static int api_start_sendrecv(ml_group *handle, const void *out, size_t out_size, int to, void *in,
                              size_t in_size, int from, ml_request **request)
{
    struct task t = messaging("sendrecv", out, out_size, to, in, in_size, from);

    return api_start(handle, &t, request);
}

/* --- requests ----------------------------------------------------------------------------------
 */

static int api_test(ml_request *handle, int *done)
{
    const struct request *r = (const struct request *)handle;
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
    .group_free = api_group_free,
    .all_reduce = api_all_reduce,
    .reduce_scatter = api_reduce_scatter,
    .reduce = api_reduce,
    .all_gather = api_all_gather,
    .all_to_all = api_all_to_all,
    .broadcast = api_broadcast,
    .gather = api_gather,
    .scatter = api_scatter,
    .send = api_send,
    .recv = api_recv,
    .sendrecv = api_sendrecv,
    .barrier = api_barrier,
    .alloc = api_alloc,
    .free = alloc_give,
    .start_all_reduce = api_start_all_reduce,
    .start_reduce_scatter = api_start_reduce_scatter,
    .start_reduce = api_start_reduce,
    .start_all_gather = api_start_all_gather,
    .start_all_to_all = api_start_all_to_all,
    .start_broadcast = api_start_broadcast,
    .start_gather = api_start_gather,
    .start_scatter = api_start_scatter,
    .start_send = api_start_send,
    .start_recv = api_start_recv,
    .start_sendrecv = api_start_sendrecv,
    .start_barrier = api_start_barrier,
    .test = api_test,
    .wait = api_wait,
};

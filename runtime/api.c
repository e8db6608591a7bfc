/* SPDX-License-Identifier: MIT */
/* api.c: the calls of mlaunch.h: arguments are checked, the call begins, is carried out, and ends.
 */
#include "runtime/api.h"

#include "common/build_id.h"
#include "runtime/abort.h"
#include "runtime/algorithm_table.h"
#include "runtime/alloc.h"
#include "runtime/check.h"
#include "runtime/collectives.h"
#include "runtime/fork_guard.h"
#include "runtime/self_link.h"
#include "runtime/split.h"
#include "runtime/world.h"

#include <string.h>

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
    rc = algorithm_check(&last);
    if (!rc)
        rc = world_init(&w, eager, &last);
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
    return world_finalize(&last);
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
        group_free(g);
}

/* --- reductions --------------------------------------------------------------------------------
 */

static int check_in_out(const void *in, size_t in_size, const void *out, size_t out_size,
                        size_t offset)
{
    int rc = check_buffer(in, in_size, "in", &last);

    if (!rc)
        rc = check_buffer(out, out_size, "out", &last);
    return rc ? rc : check_overlap(in, in_size, out, out_size, offset, &last);
}

static int api_all_reduce(ml_group *handle, const void *in, void *out, size_t count, ml_type type,
                          ml_op op)
{
    struct group *g = group_of(handle);
    size_t size;
    int rc = check_group(g, &last);

    if (!rc)
        rc = check_reduction(count, type, op, 1, &size, &last);
    if (!rc)
        rc = check_in_out(in, size, out, size, SIZE_MAX);
    if (!rc)
        rc = call_begin(g, CALL_ALL_REDUCE, "all_reduce", count, (int)type, (int)op, -1, &last);
    return rc ? rc : call_end(g, all_reduce(g, in, out, count, type, op, &last), &last);
}

static int api_reduce_scatter(ml_group *handle, const void *in, void *out, size_t count,
                              ml_type type, ml_op op)
{
    struct group *g = group_of(handle);
    size_t size;
    int rc = check_group(g, &last);

    if (!rc)
        rc = check_reduction(count, type, op, (size_t)g->size, &size, &last);
    if (!rc)
        rc = check_in_out(in, size * (size_t)g->size, out, size, SIZE_MAX);
    if (!rc)
        rc = call_begin(g, CALL_REDUCE_SCATTER, "reduce_scatter", count, (int)type, (int)op, -1,
                        &last);
    return rc ? rc : call_end(g, reduce_scatter(g, in, out, count, type, op, &last), &last);
}

static int api_reduce(ml_group *handle, const void *in, void *out, size_t count, ml_type type,
                      ml_op op, int root)
{
    struct group *g = group_of(handle);
    size_t size;
    int rc = check_group(g, &last);

    if (!rc)
        rc = check_reduction(count, type, op, 1, &size, &last);
    if (!rc)
        rc = check_rank(g, root, "root", &last);
    if (!rc)
        rc = check_in_out(in, size, out, g->rank == root ? size : 0, SIZE_MAX);
    if (!rc)
        rc = call_begin(g, CALL_REDUCE, "reduce", count, (int)type, (int)op, root, &last);
    return rc ? rc : call_end(g, reduce(g, in, out, count, type, op, root, &last), &last);
}

/* --- movements ---------------------------------------------------------------------------------
 */

static int api_all_gather(ml_group *handle, const void *in, void *out, size_t size)
{
    struct group *g = group_of(handle);
    int rc = check_group(g, &last);

    if (!rc)
        rc = check_blocks((size_t)g->size, size, &last);
    if (!rc)
        rc = check_in_out(in, size, out, size * (size_t)g->size, size * (size_t)g->rank);
    if (!rc)
        rc = call_begin(g, CALL_ALL_GATHER, "all_gather", size, 0, 0, -1, &last);
    return rc ? rc : call_end(g, all_gather(g, in, out, size, &last), &last);
}

static int api_all_to_all(ml_group *handle, const void *in, void *out, size_t size)
{
    struct group *g = group_of(handle);
    int rc = check_group(g, &last);

    if (!rc)
        rc = check_blocks((size_t)g->size, size, &last);
    if (!rc)
        rc = check_in_out(in, size * (size_t)g->size, out, size * (size_t)g->size, SIZE_MAX);
    if (!rc)
        rc = call_begin(g, CALL_ALL_TO_ALL, "all_to_all", size, 0, 0, -1, &last);
    return rc ? rc : call_end(g, all_to_all(g, in, out, size, &last), &last);
}

static int api_broadcast(ml_group *handle, void *buf, size_t size, int root)
{
    struct group *g = group_of(handle);
    int rc = check_group(g, &last);

    if (!rc)
        rc = check_rank(g, root, "root", &last);
    if (!rc)
        rc = check_blocks(1, size, &last);
    if (!rc)
        rc = check_buffer(buf, size, "buf", &last);
    if (!rc)
        rc = call_begin(g, CALL_BROADCAST, "broadcast", size, 0, 0, root, &last);
    return rc ? rc : call_end(g, broadcast(g, buf, size, root, &last), &last);
}

static int api_gather(ml_group *handle, const void *in, void *out, size_t size, int root)
{
    struct group *g = group_of(handle);
    int rc = check_group(g, &last);

    if (!rc)
        rc = check_rank(g, root, "root", &last);
    if (!rc)
        rc = check_blocks((size_t)g->size, size, &last);
    if (!rc)
        rc = check_in_out(in, size, out, g->rank == root ? size * (size_t)g->size : 0,
                          size * (size_t)g->rank);
    if (!rc)
        rc = call_begin(g, CALL_GATHER, "gather", size, 0, 0, root, &last);
    return rc ? rc : call_end(g, gather(g, in, out, size, root, &last), &last);
}

static int api_scatter(ml_group *handle, const void *in, void *out, size_t size, int root)
{
    struct group *g = group_of(handle);
    int rc = check_group(g, &last);

    if (!rc)
        rc = check_rank(g, root, "root", &last);
    if (!rc)
        rc = check_blocks((size_t)g->size, size, &last);
    if (!rc)
        rc = check_in_out(in, g->rank == root ? size * (size_t)g->size : 0, out, size, SIZE_MAX);
    if (!rc)
        rc = call_begin(g, CALL_SCATTER, "scatter", size, 0, 0, root, &last);
    return rc ? rc : call_end(g, scatter(g, in, out, size, root, &last), &last);
}

/* --- point to point ----------------------------------------------------------------------------
 */

static int check_peer(const struct group *g, int peer, const void *buf, size_t size,
                      const char *what)
{
    int rc;

    if (peer == ML_NOBODY)
        return 0;
    rc = check_rank(g, peer, what, &last);
    if (!rc)
        rc = check_blocks(1, size, &last);
    return rc ? rc : check_buffer(buf, size, what, &last);
}

/* Nobody else can send it while this thread waits: refused instead of waiting for ever. */
static int check_self_receive(const struct group *g, int to, int from)
{
    if (from != g->rank || to == g->rank || self_link_has_mail(g->links[g->rank]))
        return 0;
    return fault_set(&last, ML_ERR_ARGUMENT,
                     "rank %d receives from itself, but has sent itself nothing", g->rank);
}

static int api_exchange(struct group *g, const char *name, const void *out, size_t out_size, int to,
                        void *in, size_t in_size, int from)
{
    struct transfer t[2];
    int n = 0, rc = check_group(g, &last);

    if (!rc)
        rc = check_peer(g, to, out, out_size, "to");
    if (!rc)
        rc = check_peer(g, from, in, in_size, "from");
    if (!rc && to != ML_NOBODY && from != ML_NOBODY)
        rc = check_overlap(out, out_size, in, in_size, SIZE_MAX, &last);
    if (!rc)
        rc = check_self_receive(g, to, from);
    if (!rc)
        rc = call_begin(g, CALL_SEND, name, 0, 0, 0, -1, &last);
    if (rc)
        return rc;
    /* In place: what is received must not overwrite what is still to be sent. */
    if (to != ML_NOBODY && from != ML_NOBODY && out == in && out_size) {
        void *copy = group_scratch(g, out_size);

        if (!copy)
            return call_end(g, fault_set(&last, ML_ERR_MEMORY, "out of memory"), &last);
        out = memcpy(copy, out, out_size);
    }
    if (to != ML_NOBODY)
        t[n++] = (struct transfer){
            .what = TRANSFER_SEND, .peer = to, .buf = (void *)(uintptr_t)out, .size = out_size};
    if (from != ML_NOBODY)
        t[n++] = (struct transfer){.what = TRANSFER_RECV, .peer = from, .buf = in, .size = in_size};
    return call_end(g, transfer_run(g, t, n, &last), &last);
}

static int api_send(ml_group *handle, const void *buf, size_t size, int to)
{
    return api_exchange(group_of(handle), "send", buf, size, to, NULL, 0, ML_NOBODY);
}

static int api_recv(ml_group *handle, void *buf, size_t size, int from)
{
    return api_exchange(group_of(handle), "recv", NULL, 0, ML_NOBODY, buf, size, from);
}

static int api_sendrecv(ml_group *handle, const void *out, size_t out_size, int to, void *in,
                        size_t in_size, int from)
{
    return api_exchange(group_of(handle), "sendrecv", out, out_size, to, in, in_size, from);
}

static int api_barrier(ml_group *handle)
{
    struct group *g = group_of(handle);
    int rc = check_group(g, &last);

    if (!rc)
        rc = call_begin(g, CALL_BARRIER, "barrier", 0, 0, 0, -1, &last);
    return rc ? rc : call_end(g, barrier(g, &last), &last);
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
};

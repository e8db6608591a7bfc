/* SPDX-License-Identifier: MIT */
#include "launcher/tools/bench/measure/bench_case.h"

#include "launcher/tools/bench/measure/bench_gpu.h"

#include <stdlib.h>
#include <string.h>

enum {
    WINDOW = 64,             /* messages in flight, as in OSU's osu_bw */
    WINDOW_BYTES = 64 << 20, /* at most, in flight */
    ALIGNMENT = 4096,
};

static bool kind_has_shares(enum bench_kind kind)
{
    return kind == BENCH_ALL_GATHER || kind == BENCH_REDUCE_SCATTER || kind == BENCH_ALL_TO_ALL ||
           kind == BENCH_GATHER || kind == BENCH_SCATTER;
}

static void sizes_set(struct bench_case *c, size_t size)
{
    size_t element = bench_options_type_size(c->options->type), parts = 1;

    if (kind_has_shares(c->options->kind))
        parts = (size_t)c->ranks;
    c->count = size / element / parts;
    if (!c->count && size)
        c->count = 1;
    c->share = c->count * element;
    c->bytes = c->share * parts;
    c->window = WINDOW;
    while (c->window > 1 && c->bytes * (size_t)c->window > WINDOW_BYTES)
        c->window /= 2;
}

unsigned char *bench_buffer_open(size_t size, bool uses_alloc)
{
    void *memory = NULL;

    if (uses_alloc)
        return ml_alloc(size, &memory) ? NULL : memory;
    return posix_memalign(&memory, ALIGNMENT, size) ? NULL : memory;
}

void bench_buffer_close(unsigned char *memory, bool uses_alloc)
{
    if (uses_alloc)
        ml_free(memory);
    else
        free(memory);
}

/* Memory of rank 1 that rank 0 reaches. */
static int window_open(struct bench_case *c, struct fault *why)
{
    size_t room = c->bytes < sizeof(uint64_t) ? sizeof(uint64_t) : c->bytes;
    bool is_on_gpu = c->options->memory == BENCH_CUDA;
    int rc = is_on_gpu ? bench_gpu_alloc(&c->gpu_part, room, why) : 0;

    if (rc)
        return rc;
    if (ml_window_create(c->world, c->gpu_part, room, &c->memory))
        return fault_set(why, ML_ERR_STATE, "%s", ml_error());
    c->part =
        is_on_gpu ? bench_buffer_open(room, false) : ml_window_memory(c->memory, c->rank, NULL);
    return c->part ? 0 : fault_set(why, ML_ERR_MEMORY, "rank %d: out of memory", c->rank);
}

static int gpu_open(struct bench_case *c, size_t room, struct fault *why)
{
    int rc = bench_gpu_alloc(&c->from, room, why);

    if (!rc)
        rc = bench_gpu_alloc(&c->to, room, why);
    return rc;
}

int bench_case_open(struct bench_case *c, const struct bench_options *o, ml_group *world,
                    size_t size, struct fault *why)
{
    bool uses_alloc = o->memory == BENCH_ALLOC;
    size_t room;
    int rc = 0;

    *c = (struct bench_case){
        .options = o, .world = world, .rank = ml_rank(world), .ranks = ml_size(world)};
    sizes_set(c, size);
    room = c->bytes ? c->bytes : 1; /* atomic has 8 */
    c->in = bench_buffer_open(room, uses_alloc);
    c->out = bench_buffer_open(room, uses_alloc);
    if (!c->in || !c->out)
        rc = fault_set(why, ML_ERR_MEMORY, "rank %d: out of memory for two buffers of %zu bytes",
                       c->rank, room);
    if (!rc && o->memory == BENCH_CUDA)
        rc = gpu_open(c, room, why);
    else
        c->from = c->in, c->to = c->out;
    if (!rc && bench_options_kind_is_one_sided(o->kind))
        rc = window_open(c, why);
    if (rc)
        bench_case_close(c);
    return rc;
}

void bench_case_close(struct bench_case *c)
{
    bool uses_alloc = c->options->memory == BENCH_ALLOC;

    (void)ml_window_free(c->memory); /* an error of it has been seen in a call before */
    c->memory = NULL;
    if (c->options->memory == BENCH_CUDA) {
        bench_gpu_free(c->from);
        bench_gpu_free(c->to);
        bench_gpu_free(c->gpu_part);
        bench_buffer_close(c->part, false);
    }
    bench_buffer_close(c->in, uses_alloc);
    bench_buffer_close(c->out, uses_alloc);
    c->in = c->out = c->from = c->to = c->part = c->gpu_part = NULL;
}

int bench_case_give(struct bench_case *c, struct fault *why)
{
    int rc = c->from == c->in ? 0 : bench_gpu_copy(c->from, c->in, c->bytes, why);

    if (!rc && c->gpu_part)
        rc = bench_gpu_copy(c->gpu_part, c->part, c->bytes, why);
    return rc || c->to == c->out ? rc : bench_gpu_copy(c->to, c->out, c->bytes, why);
}

int bench_case_take(struct bench_case *c, struct fault *why)
{
    bool is_host = c->to == c->out || c->options->kind == BENCH_ATOMIC; /* a number, not a buffer */

    if (c->gpu_part && c->options->kind == BENCH_PUT)
        return bench_gpu_copy(c->part, c->gpu_part, c->bytes, why);
    return is_host ? 0 : bench_gpu_copy(c->out, c->to, c->bytes, why);
}

/* Sends a message there and back; lat is half of the time. */
static int lat_run(struct bench_case *c)
{
    int rc;

    if (c->rank > 1)
        return 0;
    if (c->rank == 0) {
        rc = ml_send(c->world, c->from, c->bytes, 1);
        return rc ? rc : ml_recv(c->world, c->to, c->bytes, 1);
    }
    rc = ml_recv(c->world, c->to, c->bytes, 0);
    return rc ? rc : ml_send(c->world, c->from, c->bytes, 0);
}

/* Sends a window of messages one way, and one word back. */
static int bw_run(struct bench_case *c)
{
    int rc = 0, word = 0;

    if (c->rank > 1)
        return 0;
    for (int i = 0; i < c->window && !rc; i++)
        rc = c->rank == 0 ? ml_send(c->world, c->from, c->bytes, 1)
                          : ml_recv(c->world, c->to, c->bytes, 0);
    if (rc)
        return rc;
    return c->rank == 0 ? ml_recv(c->world, &word, sizeof(word), 1)
                        : ml_send(c->world, &word, sizeof(word), 0);
}

/* Puts, and waits until all is in rank 1's memory. */
static int put_run(struct bench_case *c)
{
    int rc = 0;

    for (int i = 0; i < c->window && !rc; i++)
        rc = ml_put(c->memory, c->from, c->bytes, 1, 0);
    return rc ? rc : ml_flush(c->memory, 1);
}

/* A window of gets is in flight at once, all into the same buffer. */
static int get_run(struct bench_case *c)
{
    ml_request *requests[WINDOW] = {NULL};
    int rc = 0;

    if (c->window == 1)
        return ml_get(c->memory, c->to, c->bytes, 1, 0);
    for (int i = 0; i < c->window && !rc; i++)
        rc = ml_start_get(c->memory, c->to, c->bytes, 1, 0, &requests[i]);
    for (int i = 0; i < c->window; i++) {
        int result = ml_wait(requests[i]);

        rc = rc ? rc : result;
    }
    return rc;
}

/* The number that rank 1 had before the last addition goes to `out`. */
static int atomic_run(struct bench_case *c)
{
    int rc = 0;

    for (int i = 0; i < c->window && !rc; i++)
        rc = ml_fetch_add(c->memory, 1, 0, 1, (uint64_t *)(void *)c->out);
    return rc;
}

static int one_sided_run(struct bench_case *c)
{
    if (c->rank > 0)
        return 0;
    if (c->options->kind == BENCH_PUT)
        return put_run(c);
    return c->options->kind == BENCH_GET ? get_run(c) : atomic_run(c);
}

int bench_case_run(struct bench_case *c)
{
    const struct bench_options *o = c->options;
    int next = (c->rank + 1) % c->ranks, last = (c->rank + c->ranks - 1) % c->ranks;

    switch (o->kind) {
    case BENCH_ALL_REDUCE:
        return ml_all_reduce(c->world, c->from, c->to, c->count, o->type, o->op);
    case BENCH_ALL_GATHER:
        return ml_all_gather(c->world, c->from, c->to, c->share);
    case BENCH_REDUCE_SCATTER:
        return ml_reduce_scatter(c->world, c->from, c->to, c->count, o->type, o->op);
    case BENCH_REDUCE:
        return ml_reduce(c->world, c->from, c->to, c->count, o->type, o->op, 0);
    case BENCH_GATHER:
        return ml_gather(c->world, c->from, c->to, c->share, 0);
    case BENCH_SCATTER:
        return ml_scatter(c->world, c->from, c->to, c->share, 0);
    case BENCH_ALL_TO_ALL:
        return ml_all_to_all(c->world, c->from, c->to, c->share);
    case BENCH_BROADCAST:
        return ml_broadcast(c->world, c->rank == 0 ? c->from : c->to, c->bytes, 0);
    case BENCH_BARRIER:
        return ml_barrier(c->world);
    case BENCH_SENDRECV:
        return ml_sendrecv(c->world, c->from, c->bytes, next, c->to, c->bytes, last);
    case BENCH_LAT:
        return lat_run(c);
    case BENCH_BW:
        return bw_run(c);
    case BENCH_PUT:
    case BENCH_GET:
    case BENCH_ATOMIC:
        return one_sided_run(c);
    case BENCH_TRANSFER: /* transfer/ */
    case BENCH_LINK:     /* link/ */
        break;
    }
    return ML_ERR_ARGUMENT;
}

int bench_case_call(struct fault *why, int rc)
{
    return rc ? fault_set(why, rc, "%s", ml_error()) : 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * gpu_faults WAY [--again]: two ranks make a call with buffers in GPU memory, whose driver
 * (fake_cuda.c) may fail in one of them. Each rank prints "RANK: CODE: SENTENCE", or "RANK: right";
 * with --again, the same of a second call on the same group or window.
 */
#include "common/mlaunch.h"
#include "tests/gpu/gpu_program.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { COUNT = 1000 };

static ml_group *world;
static int rank, *v;

static int call_blocking(void)
{
    return ml_all_reduce(world, v, v, COUNT, ML_INT32, ML_SUM);
}

static int call_host(void)
{
    int one = 1, rc = ml_all_reduce(world, &one, &one, 1, ML_INT32, ML_SUM);

    return rc || one == 2 ? rc : 1;
}

static int call_named(void)
{
    ml_next_stream(world, gpu_work);
    return call_blocking();
}

static int call_started(void)
{
    ml_request *request;
    int rc = ml_start_all_reduce(world, v, v, COUNT, ML_INT32, ML_SUM, &request);

    if (rc && request)
        return 1;
    return rc ? rc : ml_wait(request);
}

static int call_message(void)
{
    ml_request *request = NULL;
    int rc = ml_start_sendrecv(world, v, sizeof(int) * COUNT, 1 - rank, v, sizeof(int) * COUNT,
                               1 - rank, &request);

    return rc ? rc : ml_wait(request);
}

/* From rank 0 to rank 1, or the other way, in buffers that are filled before. */
enum { LONG = 50000 };

static int pass(int from, int count)
{
    static int *one;
    int rc;

    if (!one)
        one = gpu_ints(LONG, GPU_PLAIN);
    gpu_count_up(one, LONG, rank == from ? 5 : -1);
    rc = rank == from ? ml_send(world, one, sizeof(int) * (size_t)count, 1 - rank)
                      : ml_recv(world, one, sizeof(int) * (size_t)count, 1 - rank);
    return rc || gpu_counts(one, (size_t)count, 5, 1) ? rc : 1;
}

static int call_take(void)
{
    return pass(0, LONG);
}

static int call_give(void)
{
    return pass(1, LONG);
}

static int call_give_few(void)
{
    return pass(1, COUNT);
}

static int call_take_few(void)
{
    return pass(0, COUNT);
}

static int call_offers(void)
{
    if (rank == 1)
        _exit(0);
    return pass(0, LONG);
}

/* What goes in pieces (IPC does not take memory of pools). */
enum { MANY = 6 << 20 };

static int after(int rc, const int *result)
{
    if (rc && !gpu_is_quiet(result, MANY))
        printf("%d: written after the call\n", rank);
    return rc;
}

static int pass_many(int from)
{
    int *one = gpu_ints(MANY, GPU_POOL), rc;

    gpu_count_up(one, MANY, rank == from ? 5 : -1);
    rc = after(rank == from ? ml_send(world, one, sizeof(int) * MANY, 1 - rank)
                            : ml_recv(world, one, sizeof(int) * MANY, 1 - rank),
               one);
    return rc || gpu_counts(one, MANY, 5, 1) ? rc : 1;
}

static int call_take_many(void)
{
    return pass_many(0);
}

static int call_give_many(void)
{
    return pass_many(1);
}

static int call_cut(void)
{
    int *in = gpu_ints(MANY, GPU_PLAIN), *out = gpu_ints(MANY, GPU_PLAIN), rc;

    gpu_count_up(in, MANY, 5 * rank);
    gpu_count_up(out, MANY, -1);
    rc = after(ml_all_reduce(world, in, out, MANY, ML_INT32, ML_SUM), out);
    return rc || gpu_counts(out, MANY, 5, 2) ? rc : 1;
}

static ml_window *window;

static int call_put(void)
{
    if (!window && ml_window_create(world, NULL, sizeof(int) * COUNT, &window))
        return 1;
    return ml_put(window, v, sizeof(int) * COUNT, 1 - rank, 0);
}

static int call_get(void)
{
    if (!window && ml_window_create(world, NULL, sizeof(int) * COUNT, &window))
        return 1;
    return ml_get(window, v, sizeof(int) * COUNT, 1 - rank, 0);
}

/* Started where the other rank's part is far away: then the copy comes after the start. */
static int call_start_get(void)
{
    ml_request *request = NULL;
    int rc;

    if (!window && ml_window_create(world, NULL, sizeof(int) * COUNT, &window))
        return 1;
    rc = ml_start_get(window, v, sizeof(int) * COUNT, 1 - rank, 0, &request);
    if (rc || !request)
        return 1;
    return ml_wait(request);
}

/* A window whose parts are on GPUs. Rank 0 puts and gets, so that rank 1 may have to serve it. */
static ml_window *on_gpus(void)
{
    if (!window && ml_window_create(world, v, sizeof(int) * COUNT, &window))
        return NULL;
    return window;
}

static int call_window(void)
{
    return on_gpus() ? 0 : -1;
}

static int meet(int rc)
{
    uint8_t byte = 0;

    return ml_all_reduce(world, &byte, &byte, 1, ML_UINT8, ML_MAX) ? 1 : rc;
}

static int call_window_put(void)
{
    int rc = 0, *from = gpu_ints(COUNT, GPU_PLAIN);

    gpu_count_up(from, COUNT, rank);
    if (!on_gpus())
        return -1;
    if (rank == 0)
        rc = ml_put(window, from, sizeof(int) * COUNT, 1, 0);
    if (rank == 0 && !rc)
        rc = ml_flush(window, 1);
    return meet(rc);
}

static int call_window_get(void)
{
    int *into = gpu_ints(COUNT, GPU_PLAIN);

    if (!on_gpus())
        return -1;
    return meet(rank == 0 ? ml_get(window, into, sizeof(int) * COUNT, 1, 0) : 0);
}

/* The other way round. */
static int call_window_swapped(void)
{
    if (!on_gpus())
        return -1;
    return meet(rank == 1 ? ml_put(window, &rank, sizeof(rank), 0, 0) : 0);
}

/* What a rank does itself with its own part. */
static int call_window_own(void)
{
    uint64_t old;

    if (!on_gpus())
        return -1;
    return meet(rank == 1 ? ml_fetch_add(window, 1, 8, 1, &old) : 0);
}

static int call_window_wait(void)
{
    if (!on_gpus())
        return -1;
    return meet(rank == 1 ? ml_wait_signal(window, 8, 0, -1) : 0);
}

static int call_window_freed(void)
{
    if (!on_gpus())
        return -1;
    if (rank == 1)
        gpu_free(v);
    return meet(0) || rank == 1 ? 0 : ml_get(window, v, sizeof(int) * COUNT, 1, 0);
}

/* The same, but rank 0 writes: a device of its own may do so, and the owner's GPU has to see it. */
static int call_window_freed_put(void)
{
    int rc;

    if (!on_gpus())
        return -1;
    if (rank == 1)
        gpu_free(v);
    if (meet(0) || rank == 1)
        return 0;
    rc = ml_put(window, v, sizeof(int) * COUNT, 1, 0);
    return rc ? rc : ml_flush(window, 1);
}

static int call_window_dies(void)
{
    if (!on_gpus())
        return -1;
    if (rank == 1)
        _exit(0);
    return ml_wait_signal(window, 8, UINT64_MAX, -1);
}

/* What the tests rely on: that it is noticed. */
static int call_touch(void)
{
    return *(volatile int *)v;
}

static int call_dies(void)
{
    if (rank == 1)
        _exit(0); /* another status would end rank 0 before it can say anything */
    return call_named();
}

static const struct {
    const char *name;
    int (*call)(void);
} ways[] = {{"blocking", call_blocking},
            {"named", call_named},
            {"host", call_host},
            {"started", call_started},
            {"message", call_message},
            {"put", call_put},
            {"get", call_get},
            {"start_get", call_start_get},
            {"touch", call_touch},
            {"dies", call_dies},
            {"window", call_window},
            {"window_put", call_window_put},
            {"window_get", call_window_get},
            {"window_own", call_window_own},
            {"window_wait", call_window_wait},
            {"window_freed", call_window_freed},
            {"window_freed_put", call_window_freed_put},
            {"window_dies", call_window_dies},
            {"window_swapped", call_window_swapped},
            {"take", call_take},
            {"give", call_give},
            {"give_few", call_give_few},
            {"take_few", call_take_few},
            {"offers", call_offers},
            {"take_many", call_take_many},
            {"give_many", call_give_many},
            {"cut", call_cut}};

static void say(int (*call)(void))
{
    int rc = call();

    if (rc)
        printf("%d: %d: %s\n", rank, rc, ml_error());
    else
        printf("%d: right\n", rank);
}

int main(int argc, char **argv)
{
    size_t i = 0;

    while (i < sizeof(ways) / sizeof(ways[0]) && argc > 1 && strcmp(ways[i].name, argv[1]) != 0)
        i++;
    if (argc < 2 || i == sizeof(ways) / sizeof(ways[0]) || ml_init(&world))
        return 2;
    rank = ml_rank(world);
    gpu_program_load(rank);
    gpu_program_case = argv[1];
    v = gpu_ints(COUNT, GPU_PLAIN);
    gpu_count_up(v, COUNT, rank);
    say(ways[i].call);
    if (argc > 2)
        say(ways[i].call);
    if (gpu_left("depth") > 1)
        printf("%d: contexts are left\n", rank);
    if (gpu_left("streams") > 6) /* two of the program's, and those that the library keeps */
        printf("%d: streams are left\n", rank);
    ml_window_free(window);
    ml_finalize();
    if (gpu_left("imports") > 0 || gpu_left("retained") > 1)
        printf("%d: memory of the other rank is left open\n", rank);
    return 0;
}

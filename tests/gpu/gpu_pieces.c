/* SPDX-License-Identifier: MIT */
/*
 * gpu_pieces: collective calls with buffers on GPUs, which MLAUNCH_GPU_PIECES lets the library cut,
 * with each algorithm; and the same call of which one rank has its buffers in host memory, which is
 * carried out as a whole. Sums of floats depend on the order in which operands meet, and both must
 * have the same bits. Rank 0 prints "alike: CALL ALGORITHM" or "unlike: …"; or "whole: …", if the
 * first was not cut.
 */
#include "common/mlaunch.h"
#include "tests/gpu/gpu_program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONG = 100003, SHARE = 60001 };

static ml_group *world;
static int rank, size;

/* What a call reads and writes, in floats. */
struct call {
    const char *name;
    int (*run)(const void *in, void *out);
    size_t in, out; /* 0: a share of each rank */
};

static int run_all_reduce(const void *in, void *out)
{
    return ml_all_reduce(world, in, out, LONG, ML_FLOAT32, ML_SUM);
}

static int run_reduce(const void *in, void *out)
{
    return ml_reduce(world, in, out, LONG, ML_FLOAT32, ML_SUM, size - 1);
}

static int run_reduce_scatter(const void *in, void *out)
{
    return ml_reduce_scatter(world, in, out, SHARE, ML_FLOAT32, ML_SUM);
}

static int run_all_gather(const void *in, void *out)
{
    return ml_all_gather(world, in, out, SHARE * sizeof(float));
}

static int run_all_to_all(const void *in, void *out)
{
    return ml_all_to_all(world, in, out, SHARE * sizeof(float));
}

static int run_gather(const void *in, void *out)
{
    return ml_gather(world, in, out, SHARE * sizeof(float), 0);
}

static int run_scatter(const void *in, void *out)
{
    return ml_scatter(world, in, out, SHARE * sizeof(float), 0);
}

static int run_broadcast(const void *in, void *out)
{
    (void)in;
    return ml_broadcast(world, out, LONG * sizeof(float), 0);
}

static const struct call calls[] = {
    {"all_reduce", run_all_reduce, LONG, LONG},
    {"reduce", run_reduce, LONG, LONG},
    {"reduce_scatter", run_reduce_scatter, 0, SHARE},
    {"all_gather", run_all_gather, SHARE, 0},
    {"all_to_all", run_all_to_all, 0, 0},
    {"gather", run_gather, SHARE, 0},
    {"scatter", run_scatter, 0, SHARE},
    {"broadcast", run_broadcast, LONG, LONG},
};
static const char *const algorithms[] = {
    "all_reduce:chain",
    "all_reduce:direct",
    "all_reduce:doubling",
    "all_reduce:flat",
    "all_reduce:ring",
    "all_reduce:shared",
    "reduce:binomial",
    "reduce:chain",
    "reduce:direct",
    "reduce:ring",
    "reduce_scatter:chain",
    "reduce_scatter:direct",
    "reduce_scatter:flat",
    "reduce_scatter:ring",
    "reduce_scatter:doubling",
    "all_gather:bruck",
    "all_gather:direct",
    "all_gather:ring",
    "broadcast:binomial",
    "broadcast:ring",
    "broadcast:scatter",
    "all_reduce:leaders",
    "all_reduce:hierarchical",
    "all_gather:hierarchical",
    "all_to_all",
    "gather",
    "scatter",
};

/* Numbers of very different sizes. */
static void fill(float *v, size_t count)
{
    uint32_t x = 77u + (uint32_t)rank * 1000003u;

    for (size_t i = 0; i < count; i++) {
        x = x * 1664525u + 1013904223u;
        v[i] = (float)((x >> 8) % 2000003) / (float)(1u << (x >> 28));
    }
}

/* Makes the call. What it has written, or NULL. */
static float *make(const struct call *c, const float *from, size_t in, size_t out, bool on_gpu)
{
    float *i = (float *)(void *)gpu_ints(in, GPU_POOL),
          *o = (float *)(void *)gpu_ints(out, GPU_POOL);
    float *result = NULL, *host_in = malloc(in * sizeof(float)),
          *host_out = malloc(out * sizeof(float));
    int rc;

    memcpy(host_in, from, in * sizeof(float));
    memcpy(host_out, from, out * sizeof(float));
    gpu_copy((int *)(void *)i, (int *)(void *)host_in, in);
    gpu_copy((int *)(void *)o, (int *)(void *)host_out, out);
    gpu_wait();
    rc = c->run(on_gpu ? i : host_in, on_gpu ? o : host_out);
    if (rc)
        fprintf(stderr, "%s: rank %d: %d: %s\n", c->name, rank, rc, ml_error());
    else if (on_gpu)
        result = (float *)(void *)gpu_read((int *)(void *)o, out);
    gpu_free((int *)(void *)i);
    gpu_free((int *)(void *)o);
    free(host_in);
    if (result || rc)
        free(host_out);
    return rc ? NULL : result ? result : host_out;
}

static bool everywhere(bool is_right)
{
    uint8_t mine = is_right, all = 0;

    return ml_all_reduce(world, &mine, &all, 1, ML_UINT8, ML_MIN) == 0 && all;
}

/* Twice: cut, and as a whole. */
static void compare(const struct call *c, const char *algorithm)
{
    size_t in = c->in ? c->in : SHARE * (size_t)size, out = c->out ? c->out : SHARE * (size_t)size;
    size_t most = in > out ? in : out;
    float *from = malloc(most * sizeof(float)), *cut, *whole;
    bool is_cut, is_alike;
    int most_at_once;

    fill(from, most);
    gpu_left("most");
    cut = make(c, from, in, out, true);
    most_at_once = gpu_left("most"); /* < 0: a real GPU, which does not say */
    is_cut = everywhere(most_at_once > 1 || most_at_once < 0);
    whole = make(c, from, in, out, rank != 1);
    is_alike = everywhere(cut && whole && memcmp(cut, whole, out * sizeof(float)) == 0);
    if (rank == 0)
        printf("%s: %s\n", !is_alike ? "unlike" : is_cut ? "alike" : "whole", algorithm);
    free(from);
    free(cut);
    free(whole);
}

int main(void)
{
    gpu_program_case = "pieces";
    for (size_t a = 0; a < sizeof(algorithms) / sizeof(algorithms[0]); a++) {
        size_t name = strcspn(algorithms[a], ":");

        setenv("MLAUNCH_ALGO", algorithms[a][name] ? algorithms[a] : "", 1);
        if (ml_init(&world))
            return 1;
        if (a == 0) {
            rank = ml_rank(world);
            size = ml_size(world);
            gpu_program_load(rank);
        }
        for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
            if (strlen(calls[i].name) == name && strncmp(calls[i].name, algorithms[a], name) == 0)
                compare(&calls[i], algorithms[a]);
        if (ml_finalize())
            return 1;
    }
    return 0;
}

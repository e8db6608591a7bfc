/* SPDX-License-Identifier: MIT */
/*
 * onesided_calls.c: puts, gets and fetch-adds of rank 0 at rank 1, by mlaunch, or with -DUSE_MPI by
 * MPI, for tests/bench/onesided. Prints lines "NAME FIGURE":
 *
 *   put_lat get_lat add_lat   us of one that nothing else is in flight with, of 8 bytes; a put ends
 *                             with its flush
 *   half_trip                 with an argument: us of a put of 8 bytes that the target sees and
 *                             answers by another, half of that time, as ib_write_lat measures it
 *   put_rate get_rate         thousands a second, of 8 bytes, 64 in flight
 *   put_BYTES get_BYTES       MB/s (10^6 bytes), as many in flight as make 4 MiB, at most 64
 *
 * Each is the median of batches. Rank 1 is in a barrier meanwhile.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST = 4 << 20, FLIGHT = 64, BATCHES = 1000, BATCHES_LEAST = 5, BATCH_US = 200 };
static const double budget_us = 100 * 1000;

static int rank;
static char *mine;          /* rank 0's memory */
static volatile char *part; /* this rank's */
static int in_flight;
static size_t bytes;

#ifdef USE_MPI
#include <mpi.h>
static MPI_Win window;

static void must(int rc)
{
    if (rc != MPI_SUCCESS)
        MPI_Abort(MPI_COMM_WORLD, 1);
}
static void open_all(int argc, char **argv)
{
    must(MPI_Init(&argc, &argv));
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    must(MPI_Alloc_mem(MOST, MPI_INFO_NULL, &mine));
    must(MPI_Win_allocate(MOST, 1, MPI_INFO_NULL, MPI_COMM_WORLD, (void *)&part, &window));
    must(MPI_Win_lock_all(MPI_MODE_NOCHECK, window));
}
static void close_all(void)
{
    MPI_Win_unlock_all(window);
    MPI_Win_free(&window);
    MPI_Finalize();
}
static void meet(void)
{
    must(MPI_Barrier(MPI_COMM_WORLD));
}
static void put_at(int to)
{
    must(MPI_Put(mine, (int)bytes, MPI_BYTE, to, 0, (int)bytes, MPI_BYTE, window));
}
static void run_put(void)
{
    for (int i = 0; i < in_flight; i++)
        put_at(1);
    must(MPI_Win_flush(1, window));
}
static void run_get(void)
{
    for (int i = 0; i < in_flight; i++)
        must(MPI_Get(mine, (int)bytes, MPI_BYTE, 1, 0, (int)bytes, MPI_BYTE, window));
    must(MPI_Win_flush(1, window));
}
static void run_add(void)
{
    uint64_t one = 1, old;

    must(MPI_Fetch_and_op(&one, &old, MPI_UINT64_T, 1, 0, MPI_SUM, window));
    must(MPI_Win_flush(1, window));
}
#else
#include <mlaunch.h>
static ml_window *window;
static ml_group *world;

static void must(int rc)
{
    if (rc < 0)
        ml_abort(1, ml_error());
}
static void open_all(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    must(ml_init(&world));
    rank = ml_rank(world);
    must(ml_alloc(MOST, (void **)&mine));
    must(ml_window_create(world, NULL, MOST, &window));
    part = ml_window_memory(window, rank, NULL);
}
static void close_all(void)
{
    must(ml_window_free(window));
    ml_free(mine);
    must(ml_finalize());
}
static void meet(void)
{
    must(ml_barrier(world));
}
static void put_at(int to)
{
    must(ml_put(window, mine, bytes, to, 0));
}
/* Started, because ml_put returns only when the bytes may be changed, which MPI_Put does not. */
static void run_put(void)
{
    ml_request *requests[FLIGHT];

    for (int i = 0; i < in_flight; i++)
        must(ml_start_put(window, mine, bytes, 1, 0, &requests[i]));
    for (int i = 0; i < in_flight; i++)
        must(ml_wait(requests[i]));
    must(ml_flush(window, 1));
}
static void run_get(void)
{
    ml_request *requests[FLIGHT];

    if (in_flight == 1) {
        must(ml_get(window, mine, bytes, 1, 0));
        return;
    }
    for (int i = 0; i < in_flight; i++)
        must(ml_start_get(window, mine, bytes, 1, 0, &requests[i]));
    for (int i = 0; i < in_flight; i++)
        must(ml_wait(requests[i]));
}
static void run_add(void)
{
    uint64_t old;

    must(ml_fetch_add(window, 1, 0, 1, &old));
}

/* There and back. */
static void run_trip(void)
{
    mine[0]++;
    put_at(1);
    while (part[0] != mine[0])
        ;
}
static void answer_trips(void)
{
    char last = 0;

    for (;;) {
        while (part[0] == last && !part[8])
            ;
        if (part[8])
            return;
        last = mine[0] = part[0];
        put_at(0);
    }
}
#endif

static double now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double batch_time(void (*run)(void), int calls)
{
    double began = now_us();

    for (int i = 0; i < calls; i++)
        run();
    return (now_us() - began) / calls;
}

/* The median time of a call. */
static double time_of(void (*run)(void))
{
    static double us[BATCHES];
    double until, one;
    int calls, n = 0;

    batch_time(run, 3);
    one = batch_time(run, 3);
    calls = one < BATCH_US ? (int)(BATCH_US / (one + 0.01)) + 1 : 1;
    for (until = now_us() + budget_us; n < BATCHES && (n < BATCHES_LEAST || now_us() < until); n++)
        us[n] = batch_time(run, calls);
    qsort(us, (size_t)n, sizeof(us[0]), compare);
    return us[n / 2];
}

static void set(size_t size, int most)
{
    bytes = size;
    in_flight = size * (size_t)most > MOST ? (int)(MOST / size) : most;
    meet();
}

static void report(const char *what, double figure)
{
    printf("%s %.3f\n", what, figure);
    fflush(stdout);
}

#ifndef USE_MPI
static void measure_trip(void)
{
    set(8, 1);
    if (rank == 0) {
        report("half_trip", time_of(run_trip) / 2);
        mine[0] = 1;
        must(ml_put(window, mine, 1, 1, 8));
    } else {
        answer_trips();
    }
    meet();
}
#endif

static void latency(const char *what, void (*run)(void))
{
    set(8, 1);
    if (rank == 0)
        report(what, time_of(run));
    meet();
}

static void bandwidth(const char *what, void (*run)(void), size_t size)
{
    char name[32];

    set(size, FLIGHT);
    snprintf(name, sizeof(name), size == 8 ? "%s_rate" : "%s_%zu", what, size);
    if (rank == 0)
        report(name, (size == 8 ? 1000. : (double)size) * in_flight / time_of(run));
    meet();
}

int main(int argc, char **argv)
{
    static const size_t sizes[] = {8, 65536, 1 << 20, 4 << 20};

    open_all(argc, argv);
    memset(mine, 0, MOST); /* pages that were never written are all one page, in the cache */
    memset((char *)part, 0, MOST);
#ifndef USE_MPI
    if (argc > 1)
        measure_trip();
#endif
    latency("put_lat", run_put);
    latency("get_lat", run_get);
    latency("add_lat", run_add);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        bandwidth("put", run_put, sizes[i]);
        bandwidth("get", run_get, sizes[i]);
    }
    close_all();
    return 0;
}

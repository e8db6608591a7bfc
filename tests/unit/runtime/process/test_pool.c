/* SPDX-License-Identifier: MIT */
/*
 * test_pool.c: blocks of a pool are aligned, don't overlap and are merged when they are freed; a
 * pool that is full says so and recovers; what is freed twice, or is no block, is an error that
 * changes nothing.
 */
#include "runtime/process/pool.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static struct fault why;

static struct pool *make(size_t size, size_t alignment)
{
    struct pool *p = NULL;

    assert_int_equal(pool_create(&p, size, alignment, &why), 0);
    return p;
}

/* The offset of a new block in the pool. */
static size_t take(struct pool *p, size_t size)
{
    void *block = NULL;
    size_t all;

    assert_int_equal(pool_take(p, size, &block, &why), 0);
    return (size_t)((unsigned char *)block - (unsigned char *)pool_memory(p, &all));
}

static int give(struct pool *p, size_t offset)
{
    size_t all;

    return pool_give(p, (unsigned char *)pool_memory(p, &all) + offset, &why);
}

static void assert_full(struct pool *p, size_t size)
{
    void *block = &why;

    assert_int_equal(pool_take(p, size, &block, &why), ML_ERR_MEMORY);
    assert_ptr_equal(block, &why); /* untouched */
}

static void assert_left(struct pool *p, size_t left, size_t longest)
{
    size_t free_left, free_longest;

    assert_int_equal(pool_left(p, &free_left, &free_longest, &why), 0);
    assert_int_equal(free_left, left);
    assert_int_equal(free_longest, longest);
}

static void test_basic_alloc_free(void **state)
{
    struct pool *p = make(1024, 64);

    (void)state;
    assert_int_equal(take(p, 100), 0);
    assert_int_equal(take(p, 100), 128);
    assert_int_equal(give(p, 0), 0);
    assert_int_equal(take(p, 64), 0);
    assert_int_equal(pool_give(p, NULL, &why), 0);
    pool_destroy(p);
    pool_destroy(NULL);
}

static void test_alignment(void **state)
{
    struct pool *p = make(1000, 128), *fine = make(8, 1), *usual = make(64, 0), *none = NULL;
    size_t size;

    (void)state;
    assert_int_equal((uintptr_t)pool_memory(p, &size) % 128, 0);
    assert_int_equal(size, 1024);
    for (size_t i = 0; i < 8; i++)
        assert_int_equal(take(p, i % 3 * 64), i * 128); /* also a block of no bytes */
    assert_int_equal(take(fine, 3), 0);
    assert_int_equal(take(fine, 5), 3);
    assert_int_equal(take(usual, 1), 0);
    assert_full(usual, 1);
    assert_int_equal(pool_create(&none, 1024, 48, &why), ML_ERR_ARGUMENT);
    assert_non_null(strstr(why.text, "an alignment of 48 bytes: give a power of two"));
    assert_int_equal(pool_create(&none, 1024, (size_t)1 << 30, &why), ML_ERR_ARGUMENT);
    assert_int_equal(pool_create(&none, 0, 64, &why), ML_ERR_ARGUMENT);
    assert_int_equal(pool_create(&none, SIZE_MAX, 64, &why), ML_ERR_MEMORY);
    assert_int_equal(pool_create(&none, (size_t)1 << 60, 64, &why), ML_ERR_MEMORY);
    assert_null(none);
    pool_destroy(p);
    pool_destroy(fine);
    pool_destroy(usual);
}

static void test_exhaustion_and_recovery(void **state)
{
    struct pool *p = make(256, 64);

    (void)state;
    assert_int_equal(take(p, 256), 0); /* an exact fit */
    assert_full(p, 1);
    assert_string_equal(why.text, "pool: no room for a block of 1 bytes: 0 of 256 bytes are free, "
                                  "at most 0 of them in one piece; free other blocks first, or "
                                  "make the pool larger");
    assert_int_equal(give(p, 0), 0);
    assert_full(p, 257);
    assert_full(p, SIZE_MAX);
    assert_int_equal(take(p, 256), 0);
    pool_destroy(p);
}

/* Each thread fills its blocks with its own number: blocks that overlap would show it. */
static void *work(void *arg)
{
    struct pool *p = arg;
    unsigned char mine = (unsigned char)(uintptr_t)pthread_self();
    intptr_t failures = 0;
    struct fault f;

    for (size_t i = 0; i < 100; i++) {
        size_t size = 1 + i * 37 % 1000;
        unsigned char *block;
        void *out;

        if (pool_take(p, size, &out, &f)) {
            failures++;
            continue;
        }
        block = out;
        memset(block, mine, size);
        for (size_t at = 0; at < size; at++)
            failures += block[at] != mine;
        failures += pool_give(p, block, &f) != 0;
    }
    return (void *)failures;
}

static void test_thread_safety(void **state)
{
    struct pool *p = make(10 * 1024, 64);
    pthread_t threads[10];
    void *failures;

    (void)state;
    for (size_t i = 0; i < 10; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, work, p), 0);
    for (size_t i = 0; i < 10; i++) {
        pthread_join(threads[i], &failures);
        assert_null(failures);
    }
    assert_left(p, (size_t)10 * 1024, (size_t)10 * 1024);
    pool_destroy(p);
}

/* Safe: an error, and the pool is as it was. */
static void test_double_free_exact_is_safe(void **state)
{
    struct pool *p = make(1024, 64);

    (void)state;
    assert_int_equal(take(p, 64), 0);
    assert_int_equal(take(p, 64), 64);
    assert_int_equal(give(p, 0), 0);
    assert_int_equal(give(p, 0), ML_ERR_ARGUMENT);
    assert_non_null(strstr(why.text, "nothing is allocated at offset 0 of the pool"));
    assert_left(p, 1024 - 64, 1024 - 128);
    assert_int_equal(take(p, 64), 0);
    assert_int_equal(take(p, 64), 128);
    pool_destroy(p);
}

static void test_double_free_after_merge_is_safe(void **state)
{
    struct pool *p = make(1024, 64);

    (void)state;
    assert_int_equal(take(p, 64), 0);
    assert_int_equal(take(p, 64), 64);
    assert_int_equal(give(p, 0), 0);
    assert_int_equal(give(p, 64), 0);
    assert_int_equal(give(p, 64), ML_ERR_ARGUMENT);
    assert_int_equal(give(p, 0), ML_ERR_ARGUMENT);
    assert_left(p, 1024, 1024);
    assert_int_equal(take(p, 1024), 0);
    pool_destroy(p);
}

/* An address within a block, or outside the pool, is no block. */
static void test_partial_overlap_raises_corruption(void **state)
{
    struct pool *p = make(1024, 64);

    (void)state;
    assert_int_equal(take(p, 192), 0);
    assert_int_equal(give(p, 64), ML_ERR_ARGUMENT);
    assert_non_null(strstr(why.text, "offset 64 of the pool is 64 bytes within a block of 192"));
    assert_int_equal(give(p, 191), ML_ERR_ARGUMENT);
    assert_int_equal(give(p, 192), ML_ERR_ARGUMENT);
    assert_int_equal(give(p, 1024), ML_ERR_ARGUMENT);
    assert_non_null(strstr(why.text, "is not in the pool of 1024 bytes"));
    assert_int_equal(pool_give(p, &p, &why), ML_ERR_ARGUMENT);
    assert_left(p, 1024 - 192, 1024 - 192);
    assert_int_equal(give(p, 0), 0);
    pool_destroy(p);
}

static void test_merge_adjacent_blocks(void **state)
{
    struct pool *p = make(192, 64);

    (void)state;
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(take(p, 64), i * 64);
    assert_int_equal(give(p, 64), 0);
    assert_int_equal(give(p, 0), 0);
    assert_left(p, 128, 128);
    assert_int_equal(give(p, 128), 0);
    assert_int_equal(take(p, 192), 0);
    pool_destroy(p);
}

static void test_fragmentation_and_defrag(void **state)
{
    struct pool *p = make(256, 64);

    (void)state;
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(take(p, 64), i * 64);
    assert_int_equal(give(p, 64), 0);
    assert_int_equal(give(p, 192), 0);
    assert_full(p, 128);
    assert_non_null(strstr(why.text, "128 of 256 bytes are free, at most 64 of them in one piece"));
    assert_int_equal(give(p, 0), 0);
    assert_int_equal(give(p, 128), 0);
    assert_int_equal(take(p, 256), 0);
    pool_destroy(p);
}

/* Ten thousand random steps beside a map of the pool's units of 16 bytes. */
static void test_against_a_map(void **state)
{
    enum { UNITS = 512, STEPS = 10000 };
    static size_t length[UNITS]; /* the block that begins there; 0: none does */
    struct pool *p = make((size_t)UNITS * 16, 16);
    unsigned random = 1;

    (void)state;
    for (int step = 0; step < STEPS; step++) {
        size_t at, units, run = 0, first = UNITS, left = 0, longest = 0, covered = 0;

        random = random * 1664525 + 1013904223;
        at = random >> 16 & (UNITS - 1);
        units = 1 + (random >> 8 & 31);
        for (size_t i = 0; i < UNITS; i++) {
            covered = length[i] ? length[i] : covered;
            run = covered ? 0 : run + 1;
            covered -= covered > 0;
            left += run > 0;
            longest = run > longest ? run : longest;
            first = run == units && first == UNITS ? i + 1 - units : first;
        }
        assert_left(p, left * 16, longest * 16);
        if (length[at]) {
            assert_int_equal(give(p, at * 16), 0);
            length[at] = 0;
        } else if (first == UNITS) {
            assert_full(p, units * 16);
        } else {
            assert_int_equal(take(p, units * 16 - step % 16), first * 16);
            length[first] = units;
        }
    }
    pool_destroy(p);
}

/* Memory that nobody may touch, as that of a GPU. */
static void test_foreign_memory(void **state)
{
    unsigned char *memory = mmap(NULL, 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct pool *p = NULL;
    void *block = NULL;
    size_t size;

    (void)state;
    assert_ptr_not_equal(memory, MAP_FAILED);
    assert_int_equal(pool_create_at(&p, memory + 8, 4096, 64, &why), ML_ERR_ARGUMENT);
    assert_non_null(strstr(why.text, "is not 64-byte aligned"));
    assert_int_equal(pool_create_at(&p, memory, 63, 64, &why), ML_ERR_ARGUMENT);
    assert_non_null(strstr(why.text, "63 bytes are no block of 64 bytes"));
    assert_null(p);
    assert_int_equal(pool_create_at(&p, memory + 64, 4096 + 63, 0, &why), 0);
    assert_true(pool_is_foreign(p));
    assert_ptr_equal(pool_memory(p, &size), memory + 64);
    assert_int_equal(size, 4096);
    assert_int_equal(pool_take(p, 4000, &block, &why), 0);
    assert_ptr_equal(block, memory + 64);
    assert_int_equal(pool_take(p, 65, &block, &why), ML_ERR_MEMORY);
    assert_int_equal(pool_give(p, memory + 64, &why), 0);
    assert_int_equal(pool_take(p, 4096, &block, &why), 0);
    pool_destroy(p);
    assert_int_equal(munmap(memory, 8192), 0);
}

static void test_forked_child(void **state)
{
    struct pool *p = make(1024, 64), *own = NULL;
    size_t left, longest;
    void *block;
    int status;
    pid_t child;

    (void)state;
    child = fork();
    if (child == 0) {
        status = pool_take(p, 1, &block, &why) != ML_ERR_STATE ||
                 pool_left(p, &left, &longest, &why) != ML_ERR_STATE ||
                 pool_give(p, pool_memory(p, &left), &why) != ML_ERR_STATE ||
                 pool_create(&own, 64, 0, &why) != 0 || pool_take(own, 1, &block, &why) != 0;
        pool_destroy(own);
        pool_destroy(p);
        _exit(status);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(take(p, 1), 0);
    pool_destroy(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_basic_alloc_free),
        cmocka_unit_test(test_alignment),
        cmocka_unit_test(test_exhaustion_and_recovery),
        cmocka_unit_test(test_thread_safety),
        cmocka_unit_test(test_double_free_exact_is_safe),
        cmocka_unit_test(test_double_free_after_merge_is_safe),
        cmocka_unit_test(test_partial_overlap_raises_corruption),
        cmocka_unit_test(test_merge_adjacent_blocks),
        cmocka_unit_test(test_fragmentation_and_defrag),
        cmocka_unit_test(test_against_a_map),
        cmocka_unit_test(test_foreign_memory),
        cmocka_unit_test(test_forked_child),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

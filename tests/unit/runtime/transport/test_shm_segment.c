/* SPDX-License-Identifier: MIT */
/* test_shm_segment.c: the rings of a segment, and who shares processors. */
#include "runtime/transport/shm_segment.h"

#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { MEMBERS = 4 };

struct members {
    char name[64];
    struct shm_segment *of[MEMBERS];
    int fd; /* the file's */
};

/* All members in this process, each with a mapping of its own. */
static void members_open(struct members *m)
{
    struct fault why = {0};

    snprintf(m->name, sizeof(m->name), "/mlaunch-%u-test.%d", (unsigned)geteuid(), (int)getpid());
    assert_int_equal(shm_segment_create(&m->of[0], m->name, MEMBERS, false, &why), 0);
    for (int i = 1; i < MEMBERS; i++)
        assert_int_equal(shm_segment_open(&m->of[i], m->name, MEMBERS, i, false, &why), 0);
    m->fd = shm_open(m->name, O_RDONLY | O_CLOEXEC, 0);
    assert_true(m->fd >= 0);
    shm_segment_unlink(m->of[0]);
}

static void members_close(struct members *m)
{
    for (int i = 0; i < MEMBERS; i++)
        shm_segment_close(m->of[i]);
    close(m->fd);
}

/* The first `count` processors from `first`. */
static void bind(struct members *m, int member, int first, int count)
{
    cpu_set_t *set = &shm_segment_slot(m->of[member], member)->processors;

    CPU_ZERO(set);
    for (int i = first; i < first + count; i++)
        CPU_SET((size_t)i, set);
}

static void test_crowded(void **state)
{
    struct members m;

    (void)state;
    members_open(&m);
    for (int i = 0; i < MEMBERS; i++)
        bind(&m, i, 0, 3);
    assert_true(shm_segment_is_crowded(m.of[2], 2)); /* four on three */
    for (int i = 0; i < MEMBERS; i++)
        bind(&m, i, i, 1);
    assert_false(shm_segment_is_crowded(m.of[2], 2)); /* a processor each */
    for (int i = 0; i < MEMBERS; i++)
        bind(&m, i, i / 2 * 8, 2);
    assert_false(shm_segment_is_crowded(m.of[3], 3)); /* two on each of two nodes with two */
    bind(&m, 1, 8, 2);
    assert_true(shm_segment_is_crowded(m.of[3], 3));  /* three on the second */
    assert_false(shm_segment_is_crowded(m.of[0], 0)); /* and one on the first */
    members_close(&m);
}

/* What one writes the other reads in the same place, and no ring is another's. */
static void test_rings(void **state)
{
    struct shm_ring *ring;
    struct members m;

    (void)state;
    members_open(&m);
    for (int from = 0; from < MEMBERS; from++)
        for (int to = 0; to < MEMBERS; to++) {
            if (from == to)
                continue;
            assert_int_equal(shm_segment_make_ring(&ring, m.of[from], to, NULL), 0);
            memset(ring->bytes, 16 * from + to, shm_segment_ring_size(m.of[from]));
        }
    for (int from = 0; from < MEMBERS; from++)
        for (int to = 0; to < MEMBERS; to++) {
            size_t last = shm_segment_ring_size(m.of[to]) - 1;

            if (from == to)
                continue;
            ring = shm_segment_find_ring(m.of[to], from);
            assert_int_equal(ring->head, 0);
            assert_int_equal(ring->bytes[0], 16 * from + to);
            assert_int_equal(ring->bytes[last], 16 * from + to);
        }
    members_close(&m);
}

/* A ring takes memory once it is made, and none that is there is made anew. */
static void test_first(void **state)
{
    const blkcnt_t blocks = 512; /* bytes each */
    struct shm_ring *ring, *again;
    struct stat before, after;
    struct members m;

    (void)state;
    members_open(&m);
    assert_int_equal(fstat(m.fd, &before), 0);
    for (int from = 0; from < MEMBERS; from++)
        for (int to = 0; to < MEMBERS; to++)
            assert_true(from == to || !shm_segment_find_ring(m.of[to], from));
    assert_int_equal(shm_segment_make_ring(&ring, m.of[1], 3, NULL), 0);
    assert_int_equal(fstat(m.fd, &after), 0);
    assert_in_range((after.st_blocks - before.st_blocks) * blocks, shm_segment_ring_size(m.of[1]),
                    shm_segment_ring_size(m.of[1]) + 3 * (size_t)sysconf(_SC_PAGESIZE));
    assert_non_null(shm_segment_find_ring(m.of[3], 1));
    assert_null(shm_segment_find_ring(m.of[1], 3));
    assert_null(shm_segment_find_ring(m.of[2], 1));
    ring->head = 128;
    assert_int_equal(shm_segment_make_ring(&again, m.of[1], 3, NULL), 0);
    assert_ptr_equal(again, ring);
    assert_int_equal(shm_segment_find_ring(m.of[3], 1)->head, 128);
    members_close(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_crowded), cmocka_unit_test(test_rings),
                                       cmocka_unit_test(test_first)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}

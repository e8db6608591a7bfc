/* SPDX-License-Identifier: MIT */
/* test_shm_segment.c: the parts of a segment, and who shares processors. */
#include "runtime/transport/shm_segment.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { MEMBERS = 4 };

struct members {
    char name[64];
    struct shm_segment *of[MEMBERS];
};

/* All members in this process, each with a mapping of its own. */
static void members_open(struct members *m)
{
    struct fault why = {0};

    snprintf(m->name, sizeof(m->name), "/mlaunch-%u-test.%d", (unsigned)geteuid(), (int)getpid());
    assert_int_equal(shm_segment_create(&m->of[0], m->name, MEMBERS, false, &why), 0);
    for (int i = 1; i < MEMBERS; i++)
        assert_int_equal(shm_segment_open(&m->of[i], m->name, MEMBERS, i, false, &why), 0);
    shm_segment_unlink(m->of[0]);
}

static void members_close(struct members *m)
{
    for (int i = 0; i < MEMBERS; i++)
        shm_segment_close(m->of[i]);
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
    struct members m;

    (void)state;
    members_open(&m);
    for (int from = 0; from < MEMBERS; from++)
        for (int to = 0; to < MEMBERS; to++)
            if (from != to)
                memset(shm_segment_ring(m.of[from], from, to)->bytes, 16 * from + to,
                       shm_segment_ring_size(m.of[from]));
    for (int from = 0; from < MEMBERS; from++)
        for (int to = 0; to < MEMBERS; to++) {
            const unsigned char *bytes;
            size_t last = shm_segment_ring_size(m.of[to]) - 1;

            if (from == to)
                continue;
            bytes = shm_segment_ring(m.of[to], from, to)->bytes;
            assert_int_equal(bytes[0], 16 * from + to);
            assert_int_equal(bytes[last], 16 * from + to);
        }
    members_close(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_crowded),
                                       cmocka_unit_test(test_rings)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}

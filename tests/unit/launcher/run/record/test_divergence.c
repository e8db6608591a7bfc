/* SPDX-License-Identifier: MIT */
/* The sentence about where ranks have parted, from the last calls of each. */
#include "launcher/run/record/divergence.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { ALL_REDUCE = 2, BARRIER = 1, BROADCAST = 7, RANKS = 4 };

static struct call_log *calls;

static int setup(void **state)
{
    struct fault why;

    (void)state;
    return call_log_create(&calls, RANKS, &why);
}

static int teardown(void **state)
{
    (void)state;
    call_log_destroy(calls);
    return 0;
}

static struct rank_call made(uint8_t kind, uint32_t seq, uint64_t count)
{
    return (struct rank_call){.start = 1,
                              .end = 2,
                              .count = count,
                              .number = seq,
                              .seq = seq,
                              .to = kind == BROADCAST ? 0 : RANK_CALL_NOBODY,
                              .from = RANK_CALL_NOBODY,
                              .kind = kind,
                              .type = kind == ALL_REDUCE ? 11 : 0,
                              .generation = 1};
}

static void add(int rank, struct rank_call c)
{
    call_log_add(calls, rank, c.number, &c, 1);
}

/* A call that has not ended. */
static struct rank_call open_call(struct rank_call c)
{
    c.end = 0;
    return c;
}

static void expect(const char *text, int ranks)
{
    struct divergence d;
    bool is_found = divergence_find(&d, calls);

    if (!text) {
        assert_false(is_found);
        return;
    }
    assert_true(is_found);
    assert_string_equal(d.text, text);
    assert_int_equal(json_array_size(d.ranks), ranks);
    divergence_clear(&d);
}

static void test_difference(void **state)
{
    (void)state;
    for (int r = 0; r < RANKS; r++)
        add(r, made(BARRIER, 1, 0));
    for (int r = 0; r < RANKS; r++)
        add(r, r == 2 ? open_call(made(BROADCAST, 2, 4096)) : open_call(made(ALL_REDUCE, 2, 1000)));
    expect("the ranks' calls differ from call 2 of the world on: rank 2 made broadcast of 4096 "
           "bytes from rank 0, but ranks 0,1,3 all_reduce of 1000 float32 (sum)",
           1);
}

/* The rank that is alone is named, also if it is the first; the root and the size count. */
static void test_first_is_odd(void **state)
{
    (void)state;
    for (int r = 0; r < RANKS; r++)
        add(r, made(BROADCAST, 1, r ? 8 : 16));
    expect("the ranks' calls differ from call 1 of the world on: rank 0 made broadcast of 16 bytes "
           "from rank 0, but ranks 1-3 broadcast of 8 bytes from rank 0",
           1);
}

static void test_behind(void **state)
{
    (void)state;
    for (uint32_t i = 1; i <= 5; i++)
        for (int r = 0; r < RANKS; r++)
            if (r != 3 || i <= 3)
                add(r, i == 5 ? open_call(made(ALL_REDUCE, i, 8)) : made(ALL_REDUCE, i, 8));
    expect("rank 3 had ended 3 calls of the world, while ranks 0-2 were in call 5, all_reduce of 8 "
           "float32 (sum)",
           1);
}

static void test_behind_inside(void **state)
{
    (void)state;
    for (int r = 0; r < 2; r++)
        add(r, made(BARRIER, 1, 0));
    add(1, open_call(made(BARRIER, 2, 0)));
    add(0, made(BARRIER, 2, 0));
    add(0, open_call(made(ALL_REDUCE, 3, 8)));
    expect("rank 1 was in call 2 of the world, barrier, while rank 0 was in call 3, all_reduce of "
           "8 float32 (sum)",
           1);
}

/* Rank 1 has joined and made messages only; nothing is known of ranks 2 and 3. */
static void test_no_call(void **state)
{
    struct rank_call message = made(10, 0, 8);

    (void)state;
    message.number = 1;
    add(1, message);
    add(0, open_call(made(BARRIER, 1, 0)));
    expect("rank 1 had made no call of the world, while rank 0 was in call 1, barrier", 1);
}

/* A rank that is ahead but does not wait, calls of an earlier generation, and a rank whose earlier
 * calls are not known, say nothing. */
static void test_nothing(void **state)
{
    struct rank_call old = made(BARRIER, 1, 0), cut = made(10, 0, 8);

    (void)state;
    expect(NULL, 0);
    old.generation = 0;
    old.kind = BROADCAST;
    add(0, old);
    for (int r = 0; r < 2; r++)
        add(r, made(BARRIER, 1, 0));
    add(0, made(BARRIER, 2, 0));
    expect(NULL, 0);
    cut.number = 5000;
    add(2, cut);
    add(0, open_call(made(BARRIER, 3, 0)));
    add(1, made(BARRIER, 2, 0));
    add(1, open_call(made(BARRIER, 3, 0)));
    expect(NULL, 0);
}

/* Values that no rank writes are only words. */
static void test_foreign(void **state)
{
    (void)state;
    for (int r = 0; r < RANKS; r++) {
        struct rank_call c;

        memset(&c, r ? 0xff : 0x7f, sizeof(c));
        add(r, c);
    }
    expect(NULL, 0);
    add(1, made(200, 9, 3));
    add(2, made(201, 9, 3));
    expect(NULL, 0); /* from an earlier generation than 0xffff */
}

/* Only the last calls are kept. */
static void test_tail(void **state)
{
    struct rank_call many[RANK_CALLS_LAST];

    (void)state;
    for (uint32_t k = 0; k < 3; k++) {
        for (uint32_t i = 0; i < RANK_CALLS_LAST; i++)
            many[i] = made(BARRIER, 1 + k * RANK_CALLS_LAST + i, 0);
        call_log_add(calls, 0, (k + 1) * RANK_CALLS_LAST, many, RANK_CALLS_LAST);
    }
    assert_in_range(calls->ranks[0].count, RANK_CALLS_LAST, 2 * RANK_CALLS_LAST);
    assert_true(calls->ranks[0].is_cut);
    assert_int_equal(calls->ranks[0].calls[calls->ranks[0].count - 1].seq, 3 * RANK_CALLS_LAST);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_difference, setup, teardown),
        cmocka_unit_test_setup_teardown(test_first_is_odd, setup, teardown),
        cmocka_unit_test_setup_teardown(test_behind, setup, teardown),
        cmocka_unit_test_setup_teardown(test_behind_inside, setup, teardown),
        cmocka_unit_test_setup_teardown(test_no_call, setup, teardown),
        cmocka_unit_test_setup_teardown(test_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(test_foreign, setup, teardown),
        cmocka_unit_test_setup_teardown(test_tail, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

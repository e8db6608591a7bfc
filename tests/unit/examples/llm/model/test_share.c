/* SPDX-License-Identifier: MIT */
/* test_share.c: parts cover everything once, in order, and differ by at most one. */
#include "examples/llm/model/share.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void all_is_covered_once(void **state)
{
    (void)state;
    for (uint32_t total = 0; total <= 200; total++) {
        for (uint32_t ranks = 1; ranks <= 16; ranks++) {
            uint32_t next = 0;

            for (uint32_t rank = 0; rank < ranks; rank++) {
                struct share s = share_of(total, rank, ranks);

                assert_int_equal(s.first, next);
                assert_in_range(s.count, total / ranks, (total + ranks - 1) / ranks);
                next += s.count;
            }
            assert_int_equal(next, total);
        }
    }
}

static void large_totals_do_not_overflow(void **state)
{
    struct share s = share_of(UINT32_MAX, 4095, 4096);

    (void)state;
    assert_int_equal(s.first + s.count, UINT32_MAX);
    assert_in_range(s.count, UINT32_MAX / 4096, UINT32_MAX / 4096 + 1);
}

static void units_are_whole_blocks(void **state)
{
    static const struct {
        uint32_t values, block, unit;
    } cases[] = {{256, 256, 1}, {448, 32, 1}, {64, 256, 4},  {96, 256, 8}, {16, 32, 2},
                 {80, 256, 16}, {7, 1, 1},    {48, 256, 16}, {1, 256, 256}};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_int_equal(share_unit(cases[i].values, cases[i].block), cases[i].unit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_is_covered_once),
        cmocka_unit_test(large_totals_do_not_overflow),
        cmocka_unit_test(units_are_whole_blocks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

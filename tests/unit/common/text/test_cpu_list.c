/* SPDX-License-Identifier: MIT */
/* test_cpu_list.c: lists of CPUs for several ranks. */
#include "common/text/cpu_list.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void lists(void **state)
{
    static const struct {
        const char *text;
        int count;
        const char *shares[4];
    } table[] = {
        {"0", 1, {"0", "0"}},
        {"0-3,8+10-11", 2, {"0-3", "8,10-11", "0-3", "8,10-11"}},
        {"3,2,1", 3, {"3", "2", "1", "3"}},
        {"1023", 1, {"1023"}},
        {"5-5+4", 1, {"4-5"}},
    };
    char out[CPU_LIST_TEXT];
    cpu_set_t set;

    (void)state;
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        assert_int_equal(cpu_list_count(table[i].text), table[i].count);
        for (int turn = 0; turn < 4 && table[i].shares[turn]; turn++) {
            cpu_list_share(&set, table[i].text, turn);
            assert_string_equal(cpu_list_format(out, sizeof(out), &set), table[i].shares[turn]);
        }
    }
}

static void what_is_no_list(void **state)
{
    static const char *const texts[] = {"",    ",",   "0,",   ",0",       "0-", "-1", "3-2", "a",
                                        "0x1", "0 1", "1024", "0-999999", "0+", "+0", "0--1"};

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        if (cpu_list_count(texts[i]) != -1)
            fail_msg("'%s' is a list", texts[i]);
}

static void what_is_too_long_ends_after_a_number(void **state)
{
    char out[24];
    cpu_set_t set;

    (void)state;
    CPU_ZERO(&set);
    assert_string_equal(cpu_list_format(out, sizeof(out), &set), "");
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu += 2)
        CPU_SET((size_t)cpu, &set);
    assert_string_equal(cpu_list_format(out, sizeof(out), &set), "0,2,4,6,8,10");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists),
        cmocka_unit_test(what_is_no_list),
        cmocka_unit_test(what_is_too_long_ends_after_a_number),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

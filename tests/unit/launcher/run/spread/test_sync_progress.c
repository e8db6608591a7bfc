/* SPDX-License-Identifier: MIT */
/* test_sync_progress.c: what the line of mlaunch sync says, on terminals of any width. */
#include "launcher/run/spread/sync_progress.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define GB 1000000000ULL

static void check_line(const char *expected, uint64_t at, uint64_t total, int64_t past_ms,
                       int columns)
{
    char text[SYNC_PROGRESS];

    sync_progress_text(text, at, total, past_ms, columns);
    assert_string_equal(text, expected);
}

static void test_rate_and_time(void **state)
{
    (void)state;
    check_line("1.0 GB of 4.0 GB, 25 %, 100.0 MB/s, 0:30 left", GB, 4 * GB, 10000, 80);
    check_line("4.0 GB of 4.0 GB, 100 %, 100.0 MB/s, 0:00 left", 4 * GB, 4 * GB, 40000, 80);
    check_line("100 bytes of 4.0 TB, 0 %, 100 bytes/s, ? left", 100, 4000 * GB, 1000, 80);
    check_line("10.0 MB of 10.0 GB, 0 %, 1.0 MB/s, 2:46:30 left", GB / 100, 10 * GB, 10000, 80);
    check_line("1.0 EB of 18.4 EB, 5 %, 1.0 EB/s, 0:18 left", GB * GB, UINT64_MAX, 1000, 80);
}

/* Nothing has come yet, so nobody knows. */
static void test_nothing_yet(void **state)
{
    (void)state;
    check_line("0 bytes of 4.0 GB, 0 %, 0 bytes/s, ? left", 0, 4 * GB, 500, 80);
    check_line("0 bytes of 4.0 GB, 0 %, 0 bytes/s, ? left", 0, 4 * GB, 0, 80);
}

static void test_narrow(void **state)
{
    (void)state;
    check_line("1.0 GB of 4.0 GB, 25 %, 100.0 MB/s, 0:30 left", GB, 4 * GB, 10000, 46);
    check_line("25 %, 100.0 MB/s, 0:30 left", GB, 4 * GB, 10000, 45);
    check_line("25 %, 100.0 MB/s, 0:30 left", GB, 4 * GB, 10000, 28);
    check_line("25 %, 0:30 left", GB, 4 * GB, 10000, 27);
    check_line("25 %", GB, 4 * GB, 10000, 15);
    check_line("25 %", GB, 4 * GB, 10000, 5);
    check_line("", GB, 4 * GB, 10000, 4);
    check_line("", GB, 4 * GB, 10000, 1);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rate_and_time),
        cmocka_unit_test(test_nothing_yet),
        cmocka_unit_test(test_narrow),
    };

    return cmocka_run_group_tests_name("sync_progress", tests, NULL, NULL);
}

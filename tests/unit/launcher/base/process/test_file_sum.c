/* SPDX-License-Identifier: MIT */
/* test_file_sum.c: the sums that cksum prints. */
#include "launcher/base/process/file_sum.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

static char path[] = "/tmp/mlaunch-unit.XXXXXX";

static uint32_t sum_of(const char *text, int times)
{
    FILE *f = fopen(path, "w");
    uint32_t sum = 0;

    assert_non_null(f);
    for (int i = 0; i < times; i++)
        fputs(text, f);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(file_sum_read(&sum, path), 0);
    return sum;
}

static void agrees_with_cksum(void **state)
{
    uint32_t expected = 0;
    char command[128];
    FILE *cksum;

    (void)state;
    assert_int_equal(sum_of("", 1), 4294967295);
    assert_int_equal(sum_of("123456789", 1), 930766865);
    snprintf(command, sizeof(command), "cksum < %s", path);
    sum_of("0123456789abcdef\xff", 10000); /* more than is read at once */
    cksum = popen(command, "r");
    assert_non_null(cksum);
    assert_int_equal(fscanf(cksum, "%u", &expected), 1);
    pclose(cksum);
    assert_int_equal(sum_of("0123456789abcdef\xff", 10000), expected);
}

static void needs_a_file(void **state)
{
    uint32_t sum;

    (void)state;
    assert_int_equal(file_sum_read(&sum, "/nowhere"), -1);
    assert_int_equal(file_sum_read(&sum, "/tmp"), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_cksum),
        cmocka_unit_test(needs_a_file),
    };
    int fd = mkstemp(path), failed;

    if (fd < 0)
        return 1;
    close(fd);
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(path);
    return failed;
}

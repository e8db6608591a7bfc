/* SPDX-License-Identifier: MIT */
/* test_framework_error.c: the file comes from a rank, which may write anything there. */
#include "launcher/agent/rank/framework_error.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char dir[] = "/tmp/mlaunch-test.XXXXXX", file[64];

static int prepare(void **state)
{
    (void)state;
    if (!mkdtemp(dir))
        return -1;
    snprintf(file, sizeof(file), "%s/rank.3.error", dir);
    return 0;
}

static int clean_up(void **state)
{
    (void)state;
    return rmdir(dir);
}

static void reads(const char *content, const char *expected)
{
    FILE *f = fopen(file, "w");
    char text[16];

    assert_non_null(f);
    fputs(content, f);
    fclose(f);
    framework_error_read(text, sizeof(text), dir, 3);
    unlink(file);
    assert_string_equal(text, expected);
}

static void forms(void **state)
{
    char *deep = malloc(100001);

    (void)state;
    assert_non_null(deep);
    reads("{\"message\": {\"message\": \"No: data\", \"extraInfo\": {}}}", "No: data");
    reads("{\"message\": \"text alone\"}", "text alone");
    reads("{\"message\": \"one line\\nand more\"}", "one line");
    reads("{\"message\": \"much too long for it\"}", "much too long f");
    reads("", "");
    reads("{\"message\": {\"message\": 3}}", "");
    reads("{\"message\": [\"x\"]}", "");
    reads("[1]", "");
    reads("{\"message\"", "");
    memset(deep, '[', 100000);
    deep[100000] = '\0';
    reads(deep, "");
    free(deep);
}

static void no_file(void **state)
{
    char text[16];

    (void)state;
    framework_error_read(text, sizeof(text), dir, 3);
    assert_string_equal(text, "");
    assert_int_equal(mkfifo(file, 0600), 0); /* which has no writer */
    framework_error_read(text, sizeof(text), dir, 3);
    unlink(file);
    assert_string_equal(text, "");
    assert_int_equal(symlink("/dev/zero", file), 0);
    framework_error_read(text, sizeof(text), dir, 3);
    unlink(file);
    assert_string_equal(text, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(forms), cmocka_unit_test(no_file)};

    return cmocka_run_group_tests(tests, prepare, clean_up);
}

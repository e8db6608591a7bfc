/* SPDX-License-Identifier: MIT */
/* test_output_dir.c: the names of the files of --output, of which a host's name is a part. */
#include "launcher/run/stdio/output_dir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char directory[] = "/tmp/test_output_dir.XXXXXX";

static int setup(void **state)
{
    (void)state;
    return mkdtemp(directory) && chdir(directory) == 0 ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    return chdir("/") || rmdir(directory);
}

/* Ranks 0 and 1 on the first host, 2 on the second. */
static struct host hosts[2];
static int used[] = {0, 1};
static struct planned_rank ranks[] = {{.host = 0}, {.host = 0, .local_rank = 1}, {.host = 1}};
static struct host_list list = {.hosts = hosts, .count = 2};
static struct options options;
static struct roster where = {.hosts = used, .host_count = 2, .ranks = ranks, .size = 3};
static struct plan plan = {.options = &options, .list = &list, .where = &where};

/* Opens the files for a pattern and two hosts; expects the names of ranks 0, 1 and 2's standard
 * output, and whether some have one file. */
static void expect(const char *pattern, const char *a, const char *b, const char *const names[3],
                   bool is_shared)
{
    struct output_dir *d;
    struct fault why = {0};

    hosts[0].name = (char *)a;
    hosts[1].name = (char *)b;
    options.output = (char *)pattern;
    if (output_dir_open(&d, &plan, "1n-x", &why))
        fail_msg("%s: %s", pattern, why.text);
    for (int i = 0; i < 3; i++)
        assert_string_equal(output_dir_file(d, i, 1)->name, names[i]);
    assert_int_equal(output_dir_is_shared(d), is_shared);
    assert_ptr_equal(output_dir_file(d, 0, 1) == output_dir_file(d, 1, 1),
                     strcmp(names[0], names[1]) == 0);
    for (int i = 0; i < 3; i++) {
        unlink(output_dir_file(d, i, 1)->name);
        unlink(output_dir_file(d, i, 2)->name);
    }
    output_dir_close(d);
}

static void test_names(void **state)
{
    (void)state;
    expect("f-%r", "a", "b", (const char *const[]){"f-0", "f-1", "f-2"}, false);
    expect("f-%t-%h-%j-%%", "a", "b",
           (const char *const[]){"f-0-a-1n-x-%", "f-1-a-1n-x-%", "f-2-b-1n-x-%"}, false);
    expect("f-%h", "a", "b", (const char *const[]){"f-a", "f-a", "f-b"}, true);
    expect("%r%h", "a", "b", (const char *const[]){"0a", "1a", "2b"}, false);
    expect("d", "a", "b", (const char *const[]){"d/rank.0.out", "d/rank.1.out", "d/rank.2.out"},
           false);
    rmdir("d");
    expect("d%%", "a", "b",
           (const char *const[]){"d%/rank.0.out", "d%/rank.1.out", "d%/rank.2.out"}, false);
    rmdir("d%");
    expect("%h/", "a", "b",
           (const char *const[]){"a//rank.0.out", "a//rank.1.out", "b//rank.2.out"}, false);
    rmdir("a");
    rmdir("b");
}

/* Two different ranks' names may become one. */
static void test_same(void **state)
{
    (void)state;
    expect("%h", "a", "a", (const char *const[]){"a", "a", "a"}, true);
}

/* The name of a host is no way to another directory. */
static void test_led_astray(void **state)
{
    (void)state;
    expect("%h", "../../x", ".", (const char *const[]){"_._.._x", "_._.._x", "_"}, true);
    expect("%h%h-%r", "..", "/etc/x", (const char *const[]){"_._.-0", "_._.-1", "_etc_x_etc_x-2"},
           false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_same),
        cmocka_unit_test(test_led_astray),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}

/* SPDX-License-Identifier: MIT */
/* test_joined_names.c: which names hosts have that join and say their names themselves. */
#include "launcher/run/job/joined_names.h"

#include "launcher/input/hosts/host_list.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { HOSTS = 3 };

static struct host hosts[HOSTS];
static struct host_list list = {.hosts = hosts, .count = HOSTS};
static struct joined_names names;

static int begin(void **state)
{
    (void)state;
    names = (struct joined_names){0};
    for (int i = 0; i < HOSTS; i++)
        hosts[i].name = strdup(i == 0 ? "head" : i == 1 ? "1 of 3" : "2 of 3");
    return 0;
}

static int end(void **state)
{
    (void)state;
    for (int i = 0; i < HOSTS; i++)
        free(hosts[i].name);
    joined_names_clear(&names);
    return 0;
}

static void expect_name(int index, const char *said, const char *expected)
{
    joined_names_take(&names, &list, index, said);
    assert_string_equal(hosts[index].name, expected);
}

static void test_names(void **state)
{
    (void)state;
    expect_name(1, "node", "node");
    expect_name(2, "node", "node#2");
    expect_name(2, "node", "node#2");
    expect_name(1, "head", "head#1");
    expect_name(2, "node", "node");
}

/* What no register entry and no hostfile may have. */
static void test_refused(void **state)
{
    char most[256] = "";

    (void)state;
    expect_name(1, "", "1 of 3");
    expect_name(1, "-x", "1 of 3");
    expect_name(1, "node", "node");
    expect_name(1, "-x", "1 of 3");
    expect_name(1, "a b", "1 of 3");
    expect_name(1, "a\nb", "1 of 3");
    memset(most, 'x', sizeof(most) - 1);
    expect_name(1, most, most);
    expect_name(2, most, "2 of 3"); /* it has no room for an index */
}

/* Another host joins in the place of one that sentences still speak of. */
static void test_past(void **state)
{
    const char *past[3];

    (void)state;
    expect_name(1, "the-one-before", "the-one-before");
    past[0] = hosts[1].name;
    expect_name(1, "the-next-one", "the-next-one");
    past[1] = hosts[1].name;
    expect_name(1, "the-last-one", "the-last-one");
    past[2] = hosts[1].name;
    assert_string_equal(past[0], "the-one-before");
    assert_string_equal(past[1], "the-next-one");
    assert_string_equal(past[2], "the-last-one");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_names, begin, end),
        cmocka_unit_test_setup_teardown(test_refused, begin, end),
        cmocka_unit_test_setup_teardown(test_past, begin, end),
    };

    return cmocka_run_group_tests_name("joined_names", tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* test_keeper_order.c: where each host's ranks have copies, as hosts are lost and come. */
#include "launcher/run/elastic/keeper_order.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct keeper_order *order;

static void set(int host, const char *address)
{
    struct fault why;

    assert_int_equal(keeper_order_set(&order, host, address, &why), 0);
}

static int begin(void **state)
{
    (void)state;
    order = NULL;
    set(0, "a");
    set(1, "b");
    set(2, "c");
    return 0;
}

static int end(void **state)
{
    (void)state;
    keeper_order_destroy(order);
    return 0;
}

/* is_new: it is not what was found before. */
static void require(int host, const char *expected, bool is_new)
{
    char text[KEEPERS_TEXT];

    assert_int_equal(keeper_order_find(order, host, text), is_new);
    assert_string_equal(text, expected);
}

static void test_next(void **state)
{
    (void)state;
    require(0, "b", true);
    require(1, "c", true);
    require(2, "a", true);
    require(2, "a", false);
}

/* The ranks of host 2 still have copies on host 1, when host 0 has come back. */
static void test_lost_and_back(void **state)
{
    (void)state;
    require(2, "a", true);
    set(0, "");
    require(2, "b", true);
    set(0, "d");
    require(2, "d b", true);
    require(1, "c", true);
    /* Host 2 is lost itself; whoever takes its place looks there, too. */
    set(2, "");
    require(2, "d b", false);
    set(1, "");
    require(2, "d", true);
}

static void test_alone(void **state)
{
    (void)state;
    require(0, "b", true);
    set(1, "");
    set(2, "");
    require(0, "", true);
    require(0, "", false);
    keeper_order_destroy(order);
    order = NULL;
    require(0, "", false);
}

/* A host that the job did not begin with. */
static void test_more(void **state)
{
    (void)state;
    require(2, "a", true);
    require(5, "", false);
    set(5, "f");
    require(2, "f a", true);
    require(5, "a", true);
    require(4, "f", true);
}

static void test_most(void **state)
{
    char address[KEEPER_ADDRESS], expected[KEEPERS_TEXT], text[KEEPERS_TEXT];
    int n = 0;

    (void)state;
    /* One after the other comes in between, each with the longest address. */
    for (int host = 11; host > 2; host--) {
        memset(address, 'a' + host, sizeof(address) - 1);
        address[sizeof(address) - 1] = '\0';
        set(host, address);
        assert_true(keeper_order_find(order, 2, text));
    }
    for (int host = 3; host < 3 + KEEPERS_MOST; host++) {
        memset(address, 'a' + host, sizeof(address) - 1);
        n += snprintf(expected + n, sizeof(expected) - (size_t)n, "%s%s", n ? " " : "", address);
    }
    require(2, expected, false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_next, begin, end),
        cmocka_unit_test_setup_teardown(test_lost_and_back, begin, end),
        cmocka_unit_test_setup_teardown(test_alone, begin, end),
        cmocka_unit_test_setup_teardown(test_more, begin, end),
        cmocka_unit_test_setup_teardown(test_most, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
#include "rdma/verbs/gid.h"

#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static struct gid make(const char *text, uint8_t type, uint16_t index, uint8_t prefix)
{
    struct gid g = {.type = type, .index = index, .prefix = prefix};

    assert_int_equal(inet_pton(AF_INET6, text, g.raw), 1);
    return g;
}

static struct gid_list list(const struct gid *gids, int count)
{
    return (struct gid_list){gids, count, -1};
}

static void test_kinds(void **state)
{
    struct gid four = make("::ffff:10.0.0.1", GID_ROCE_V2, 1, 24);
    struct gid local = make("fe80::1", GID_ROCE_V2, 0, 64);
    struct gid zero = make("::", GID_ROCE_V2, 2, 0);
    char text[GID_TEXT];

    (void)state;
    assert_true(gid_is_ipv4(&four));
    assert_false(gid_is_ipv4(&local));
    assert_true(gid_is_link_local(&local));
    assert_false(gid_is_link_local(&four));
    assert_true(gid_is_zero(&zero));
    assert_string_equal(gid_format(&four, text), "::ffff:10.0.0.1");
}

static void test_neighbours(void **state)
{
    static const struct {
        const char *a, *b;
        uint8_t a_prefix, b_prefix;
        bool are;
    } cases[] = {
        {"::ffff:10.0.0.1", "::ffff:10.0.0.2", 24, 24, true},
        {"::ffff:10.0.0.1", "::ffff:10.0.1.2", 24, 24, false},
        {"::ffff:10.0.0.1", "::ffff:10.0.1.2", 23, 23, true},
        {"::ffff:10.0.0.1", "::ffff:10.0.1.2", 16, 24, false},
        {"::ffff:10.0.0.1", "::ffff:10.0.0.3", 30, 30, true},
        {"::ffff:10.0.0.1", "::ffff:10.0.0.5", 30, 30, false},
        {"::ffff:10.0.0.1", "::ffff:10.0.0.2", 0, 0, false},
        {"fe80::1", "fe80::2", 0, 0, true},
        {"fd00::1", "fd00::2", 64, 64, true},
        {"fd00::1", "fd00:0:0:1::2", 64, 64, false},
        {"fd00::1", "::ffff:10.0.0.2", 64, 24, false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct gid a = make(cases[i].a, GID_ROCE_V2, 0, cases[i].a_prefix);
        struct gid b = make(cases[i].b, GID_ROCE_V2, 0, cases[i].b_prefix);

        assert_int_equal(gid_is_neighbour(&a, &b), cases[i].are);
        assert_int_equal(gid_is_neighbour(&b, &a), cases[i].are);
    }
}

/* The IPv4 address in the shared subnet wins, at any position in the tables. */
static void test_shared_subnet_first(void **state)
{
    struct gid low[] = {
        make("fe80::1", GID_ROCE_V2, 0, 64), make("::ffff:192.168.9.1", GID_ROCE_V2, 1, 24),
        make("::ffff:10.1.0.1", GID_ROCE_V1, 2, 24), make("::ffff:10.1.0.1", GID_ROCE_V2, 3, 24)};
    struct gid high[] = {make("::ffff:10.1.0.2", GID_ROCE_V2, 5, 24),
                         make("fe80::2", GID_ROCE_V2, 6, 64)};
    int i, j;

    (void)state;
    assert_true(gid_choose(list(low, 4), list(high, 2), &i, &j) >= GID_SHARED);
    assert_int_equal(low[i].index, 3);
    assert_int_equal(high[j].index, 5);
}

static void test_without_shared_subnet(void **state)
{
    struct gid low[] = {make("fe80::1", GID_ROCE_V2, 0, 64),
                        make("::ffff:10.1.0.1", GID_ROCE_V2, 1, 24)};
    struct gid high[] = {make("fe80::2", GID_ROCE_V2, 0, 64),
                         make("::ffff:10.2.0.1", GID_ROCE_V2, 1, 24)};
    struct gid v1 = make("fe80::3", GID_ROCE_V1, 0, 64);
    int i, j, score;

    (void)state;
    score = gid_choose(list(low, 2), list(high, 2), &i, &j);
    assert_in_range(score, 1, GID_SHARED - 1); /* a router may join them */
    assert_int_equal(i, 1);
    assert_int_equal(j, 1);
    assert_true(gid_choose(list(low, 1), list(high, 2), &i, &j) > 0);
    assert_int_equal(j, 0);
    assert_int_equal(gid_choose(list(low, 2), list(&v1, 1), &i, &j), 0);
    assert_true(gid_choose(list(&v1, 1), list(&v1, 1), &i, &j) > 0);
    assert_int_equal(gid_choose(list(low, 0), list(high, 2), &i, &j), 0);
}

static void test_named_index(void **state)
{
    struct gid low[] = {make("fe80::1", GID_ROCE_V2, 0, 64),
                        make("::ffff:10.1.0.1", GID_ROCE_V2, 1, 24)};
    struct gid high[] = {make("fe80::2", GID_ROCE_V2, 0, 64),
                         make("::ffff:10.1.0.2", GID_ROCE_V2, 1, 24)};
    struct gid_list named = {low, 2, 0}, absent = {low, 2, 9};
    int i, j;

    (void)state;
    assert_true(gid_choose(named, list(high, 2), &i, &j) > 0);
    assert_int_equal(low[i].index, 0);
    assert_int_equal(high[j].index, 0);
    assert_int_equal(gid_choose(absent, list(high, 2), &i, &j), 0);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_neighbours),
        cmocka_unit_test(test_shared_subnet_first),
        cmocka_unit_test(test_without_shared_subnet),
        cmocka_unit_test(test_named_index),
    };

    return cmocka_run_group_tests_name("gid", tests, NULL, NULL);
}

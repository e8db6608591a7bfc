/* SPDX-License-Identifier: MIT */
/* test_strangers.c: who goes when too many connections have not proved themselves. */
#include "common/net/strangers.h"

#include "common/clock.h"
#include "common/failure_times.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { STRANGERS = 4000, MOST = 64 };

static struct strangers strangers;
static struct stranger all[STRANGERS];
static int used;

static int set_up(void **state)
{
    (void)state;
    used = 0;
    strangers_init(&strangers, MOST);
    return 0;
}

/* All that are left go, one by one. */
static int tear_down(void **state)
{
    struct stranger *s;

    (void)state;
    while ((s = strangers_first_out(&strangers)))
        strangers_remove(&strangers, s);
    return strangers.count != 0 || !TAILQ_EMPTY(&strangers.sources);
}

/* Comes from there, and whoever has to go for it goes: *out, or NULL. NULL: it is refused. */
static struct stranger *come(const char *ip, struct stranger **out)
{
    struct stranger *s = &all[used++];
    struct address from;
    struct fault why;

    assert_true(used <= STRANGERS);
    *s = (struct stranger){0};
    assert_int_equal(address_make(&from, ip, (uint16_t)(1024 + used), &why), 0);
    if (!strangers_room(&strangers, &from, out))
        return NULL;
    if (*out)
        strangers_remove(&strangers, *out);
    assert_int_equal(strangers_add(&strangers, s, &from, &why), 0);
    assert_true(strangers.count <= MOST);
    return s;
}

static struct stranger *add(const char *ip)
{
    struct stranger *out, *s = come(ip, &out);

    assert_non_null(s);
    return s;
}

static struct stranger *add_begun(const char *ip)
{
    struct stranger *s = add(ip);

    strangers_begin(s);
    return s;
}

static void test_nobody(void **state)
{
    struct stranger *s;

    (void)state;
    assert_null(strangers_first_out(&strangers));
    s = add("10.0.0.1");
    assert_ptr_equal(strangers_first_out(&strangers), s);
    strangers_remove(&strangers, s);
    strangers_remove(&strangers, s); /* it is not there any more */
    assert_null(strangers_first_out(&strangers));
}

static void test_oldest_silent_first(void **state)
{
    struct stranger *first = add_begun("10.0.0.1"), *second = add("10.0.0.1"), *out;
    struct stranger *third = add("10.0.0.1"), *refused = add_begun("10.0.0.1");

    (void)state;
    while (strangers.count < MOST)
        add_begun("10.0.0.1");
    strangers_idle(refused);
    assert_non_null(come("10.0.0.1", &out));
    assert_ptr_equal(out, refused);
    assert_non_null(come("10.0.0.1", &out));
    assert_ptr_equal(out, second);
    assert_non_null(come("10.0.0.1", &out));
    assert_ptr_equal(out, third);
    assert_non_null(first->source);
}

/* A flood from one address costs that address, though others are also silent, and older. */
static void test_flood_from_one_address(void **state)
{
    struct stranger *rank = add("10.0.0.1"), *begun = add_begun("10.0.0.2"), *out;

    (void)state;
    while (strangers.count < MOST)
        add("10.0.0.3");
    for (int i = 0; i < 1000; i++) {
        struct stranger *one = come("10.0.0.3", &out);

        assert_true(out != rank && out != begun);
        if (one && i % 2)
            strangers_begin(one);
    }
    assert_non_null(rank->source);
    assert_non_null(begun->source);
}

/* HELLOs at any rate: those who have begun can end, as far away as they are, new ones of that
 * address are refused, and those of others get in. */
static void test_flood_of_hellos(void **state)
{
    struct stranger *begun[MOST], *out;

    (void)state;
    for (int i = 0; i < MOST; i++)
        begun[i] = add_begun("10.0.0.3");
    for (int i = 0; i < 1000; i++)
        assert_null(come("10.0.0.3", &out));
    assert_non_null(come("10.0.0.1", &out));
    assert_ptr_equal(out, begun[MOST - 1]);
    for (int i = 0; i < MOST - 1; i++)
        assert_non_null(begun[i]->source);
}

/* Nobody holds the places: when a proof takes too long, a new one gets in. */
static void test_late_one_makes_room(void **state)
{
    struct stranger *late = NULL, *out;

    (void)state;
    for (int i = 0; i < MOST; i++) {
        struct stranger *s = add_begun("10.0.0.3");

        if (i == 7)
            late = s;
    }
    assert_null(come("10.0.0.3", &out));
    for (int i = 0; i <= 7; i++)
        all[i].since_ms -= STRANGER_YIELDS_MS;
    assert_non_null(come("10.0.0.3", &out));
    assert_ptr_equal(out, &all[0]);
    strangers_remove(&strangers, late);
    assert_non_null(come("10.0.0.1", &out));
    assert_null(out);
}

/* What one stranger can choose freely does not make it many. */
static void check_one_address(const char *format, const char *rank_ip)
{
    struct stranger *rank[2] = {add(rank_ip), add_begun(rank_ip)}, *out;

    for (int i = 1; i < 200; i++) {
        char ip[64];

        snprintf(ip, sizeof(ip), format, i);
        if (come(ip, &out) && i % 2)
            strangers_begin(&all[used - 1]);
    }
    assert_non_null(rank[0]->source);
    assert_non_null(rank[1]->source);
}

static void test_one_network(void **state)
{
    (void)state;
    check_one_address("fd00:0:0:1::%x", "fd00:0:0:2::1");
}

static void test_one_loopback(void **state)
{
    (void)state;
    check_one_address("127.0.0.%d", "10.0.0.1");
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_nobody, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_oldest_silent_first, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_flood_from_one_address, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_flood_of_hellos, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_late_one_makes_room, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_one_network, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_one_loopback, set_up, tear_down),
    };

    return cmocka_run_group_tests_name("strangers", tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* test_pending.c: who is pushed out when too many connections have not proved themselves. */
#include "coordinator/server_state.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { CONNECTIONS = 4000 };

static struct server server;
static struct connection connections[CONNECTIONS];
static int used;

static int set_up(void **state)
{
    (void)state;
    used = 0;
    server = (struct server){.size = 2};
    TAILQ_INIT(&server.pending);
    return 0;
}

/* All that are left go out, one by one. */
static int tear_down(void **state)
{
    struct connection *c;

    (void)state;
    while ((c = pending_first_out(&server)))
        pending_remove(c);
    return server.pending_count != 0 || !TAILQ_EMPTY(&server.pending);
}

static struct connection *add(const char *ip)
{
    struct connection *c = &connections[used++];
    struct address from;
    struct fault why;

    assert_true(used <= CONNECTIONS);
    *c = (struct connection){.server = &server};
    assert_int_equal(address_make(&from, ip, (uint16_t)(1024 + used), &why), 0);
    assert_int_equal(pending_add(c, &from), 0);
    return c;
}

static void push_out(void)
{
    pending_remove(pending_first_out(&server));
}

static void test_nobody(void **state)
{
    (void)state;
    assert_null(pending_first_out(&server));
    add("10.0.0.1");
    push_out();
    assert_null(pending_first_out(&server));
}

static void test_oldest_silent_first(void **state)
{
    struct connection *first = add("10.0.0.1"), *second = add("10.0.0.1"), *third = add("10.0.0.1");

    (void)state;
    pending_begin(first);
    assert_ptr_equal(pending_first_out(&server), second);
    push_out();
    assert_ptr_equal(pending_first_out(&server), third);
    push_out();
    assert_ptr_equal(pending_first_out(&server), first);
}

/* A flood from one address costs that address, though others are also silent, and older. */
static void test_flood_from_one_address(void **state)
{
    struct connection *rank = add("10.0.0.1"), *other = add("10.0.0.2");

    (void)state;
    while (server.pending_count < pending_most(&server))
        pending_begin(add("10.0.0.3"));
    for (int i = 0; i < 1000; i++) {
        struct connection *out = pending_first_out(&server);

        assert_true(out != rank && out != other);
        push_out();
        add("10.0.0.3");
    }
}

/* What one stranger can choose freely does not make it many. */
static void check_one_address(const char *format, const char *rank_ip)
{
    struct connection *rank[2] = {add(rank_ip), add(rank_ip)};

    for (int i = 1; i < 100; i++) {
        char ip[64];

        snprintf(ip, sizeof(ip), format, i);
        add(ip);
    }
    for (int i = 1; i < 97; i++) {
        struct connection *out = pending_first_out(&server);

        assert_true(out != rank[0] && out != rank[1]);
        push_out();
    }
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

/* A rank beside strangers who send a HELLO and no more, and others who send nothing, all of its own
 * address: it has the time of half a table to send its HELLO, and as long again for its proof. */
static void test_two_floods_of_its_address(void **state)
{
    struct connection *rank;
    int half = pending_most(&server) / 2;

    (void)state;
    while (server.pending_count < pending_most(&server))
        pending_begin(add("10.0.0.1"));
    for (int i = 0; i < half; i++) { /* those with a HELLO make room for silent ones */
        push_out();
        add("10.0.0.1");
    }
    push_out();
    rank = add("10.0.0.1");
    for (int i = 0; i < half - 1; i++) {
        assert_ptr_not_equal(pending_first_out(&server), rank);
        push_out();
        add("10.0.0.1");
    }
    pending_begin(rank);
    for (int i = 0; i < half - 1; i++) {
        assert_ptr_not_equal(pending_first_out(&server), rank);
        push_out();
        pending_begin(add("10.0.0.1"));
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_nobody, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_oldest_silent_first, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_flood_from_one_address, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_one_network, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_one_loopback, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_two_floods_of_its_address, set_up, tear_down),
    };

    return cmocka_run_group_tests_name("pending", tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
#include "common/net/address.h"

#include "common/clock.h"

#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void test_literal(void **state)
{
    static const char *const good[] = {"127.0.0.1",    "10.20.30.40", "::1",     "::",
                                       "fe80::1%eth0", "2001:db8::1", "0.0.0.0", "::ffff:1.2.3.4"};
    static const char *const bad[] = {
        "",      "127.1", "localhost",  "1.2.3.4.5",  "1.2.3.256", "1.2.3.4 ", " 1.2.3.4",
        "[::1]", "::1%",  "1.2.3.4%lo", "0x7f.0.0.1", "1.2.3.4:5", ":::",      "host%lo"};

    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        if (!address_is_literal(good[i]))
            fail_msg("%s", good[i]);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        if (address_is_literal(bad[i]))
            fail_msg("%s", bad[i]);
    }
}

static void test_loopback(void **state)
{
    (void)state;
    assert_true(address_is_loopback("127.0.0.1"));
    assert_true(address_is_loopback("127.1.2.3"));
    assert_true(address_is_loopback("::1"));
    assert_false(address_is_loopback("10.127.0.1"));
    assert_false(address_is_loopback("::10"));
    assert_false(address_is_loopback(""));
}

static void test_parse(void **state)
{
    static const char *const same[] = {"127.0.0.1:0", "10.0.0.2:65535", "[::1]:80",
                                       "[ff02::1%1]:7"};
    static const char *const bad[] = {"",        "127.0.0.1",     "127.0.0.1:",   "127.0.0.1:65536",
                                      ":80",     "::1:80",        "[::1]",        "[::1]80",
                                      "[::1:80", "[127.0.0.1]:8", "localhost:80", "127.0.0.1:-1",
                                      "[]:80",   "127.0.0.1:8x",  "1.2.3:80"};
    char text[ADDRESS_TEXT];
    struct address a;
    struct fault why;

    (void)state;
    for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++) {
        assert_int_equal(address_parse(&a, same[i], &why), 0);
        address_format(&a, text);
        assert_string_equal(text, same[i]);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        if (address_parse(&a, bad[i], &why) != ML_ERR_ARGUMENT)
            fail_msg("%s", bad[i]);
    }
    assert_int_equal(address_make(&a, "::1", 9, &why), 0);
    address_format_ip(&a, text);
    assert_string_equal(text, "::1");
    assert_int_equal(address_make(&a, "fe80::1%nosuchif0", 9, &why), ML_ERR_ARGUMENT);
    assert_non_null(strstr(why.text, "there is no interface nosuchif0 here"));
}

static void test_towards(void **state)
{
    char text[ADDRESS_TEXT];
    struct fault why;

    (void)state;
    assert_int_equal(address_towards("127.0.0.5", text, &why), 0);
    assert_string_equal(text, "127.0.0.1");
    assert_int_equal(address_towards("somewhere", text, &why), ML_ERR_ARGUMENT);
}

static void test_here(void **state)
{
    (void)state;
    assert_true(address_is_here("127.0.0.1"));
    assert_false(address_is_here("192.0.2.1")); /* belongs to no host (RFC 5737) */
    assert_false(address_is_here("somewhere"));
}

static void test_connection(void **state)
{
    struct pollfd p = {.events = POLLIN};
    int listener, second, client, server;
    struct address bound, other;
    struct fault why;
    char text[80];

    (void)state;
    assert_int_equal(address_listen("127.0.0.1", 0, 5, &listener, &bound, &why), 0);
    assert_int_equal(address_accept(listener), -1);
    assert_int_equal(address_connect(&bound, clock_ms() + 10000, &client, &why), 0);
    p.fd = listener;
    assert_int_equal(poll(&p, 1, 10000), 1);
    server = address_accept(listener);
    assert_true(server >= 0);
    assert_true(fcntl(server, F_GETFL) & O_NONBLOCK);
    assert_true(fcntl(server, F_GETFD) & FD_CLOEXEC);
    assert_true(fcntl(client, F_GETFL) & O_NONBLOCK);
    assert_true(fcntl(client, F_GETFD) & FD_CLOEXEC);
    assert_int_equal(write(client, "x", 1), 1);
    /* The port is in use, and the sentence names it. */
    address_format(&bound, text);
    assert_int_equal(address_listen("127.0.0.1", (uint16_t)atoi(strchr(text, ':') + 1), 5, &second,
                                    &other, &why),
                     ML_ERR_SYSTEM);
    assert_non_null(strstr(why.text, text));
    assert_non_null(strstr(why.text, "Address already in use"));
    close(client);
    close(server);
    close(listener);
    /* The port is closed again. */
    assert_int_equal(address_connect(&bound, clock_ms() + 10000, &client, &why), ML_ERR_PEER);
    assert_non_null(strstr(why.text, text));
    assert_non_null(strstr(why.text, "Connection refused"));
}

static void test_no_wildcard(void **state)
{
    struct address bound;
    struct fault why;
    int fd;

    (void)state;
    assert_int_equal(address_listen("0.0.0.0", 0, 5, &fd, &bound, &why), ML_ERR_ARGUMENT);
    assert_int_equal(address_listen("::", 0, 5, &fd, &bound, &why), ML_ERR_ARGUMENT);
}

static void expect_taken(const char *said, const char *own, const char *expected)
{
    char text[ADDRESS_TEXT];

    snprintf(text, sizeof(text), "%s", said);
    address_take_scope(text, own);
    assert_string_equal(text, expected);
}

static void test_take_scope(void **state)
{
    (void)state;
    expect_taken("[fe80::1%7]:40", "fe80::2%9", "[fe80::1%9]:40");
    expect_taken("[fe80::1]:40", "fe80::2%9", "[fe80::1%9]:40");
    expect_taken("[fe80::1%7]:40", "10.0.0.1", "[fe80::1%7]:40");
    expect_taken("[fd00::1]:40", "fe80::2%9", "[fd00::1]:40");
    expect_taken("10.0.0.2:40", "fe80::2%9", "10.0.0.2:40");
    expect_taken("[fe80::1%7]:40", "", "[fe80::1%7]:40");
    expect_taken("", "fe80::2%9", "");
    expect_taken("[", "fe80::2%9", "[");
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_literal),     cmocka_unit_test(test_loopback),
        cmocka_unit_test(test_parse),       cmocka_unit_test(test_towards),
        cmocka_unit_test(test_here),        cmocka_unit_test(test_connection),
        cmocka_unit_test(test_no_wildcard), cmocka_unit_test(test_take_scope),
    };

    return cmocka_run_group_tests_name("address", tests, NULL, NULL);
}

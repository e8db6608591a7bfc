/* SPDX-License-Identifier: MIT */
/* test_uplink_order.c: the line that tells a started agent whom to call. */
#include "launcher/wire/uplink/uplink_order.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define KEY   "0102030000000000000000000000000000000000000000000000000000000000"
#define START "{\"heads\":[\"10.0.0.1\"],\"port\":7,\"key\":\"" KEY "\",\"limit_ms\":9,"

static char *line_of(const char *ip)
{
    const struct uplink_order order = {.port = 7, .limit_ms = 9, .hosts = 3, .key = {1, 2, 3}};
    struct fault why;
    char *line;

    assert_int_equal(
        uplink_order_write(&line, ip, &order, json_pack("[[s,i],[s,i]]", "a", 2, "b", 0), &why), 0);
    return line;
}

/* As the agent reads it, in pieces and with more behind it. */
static int line_read(struct uplink_order *o, const char *text, const char *node, struct fault *why)
{
    int ends[2], rc;

    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], text, strlen(text)), strlen(text));
    close(ends[1]);
    rc = uplink_order_read(o, ends[0], node, why);
    close(ends[0]);
    return rc;
}

static void test_round_trip(void **state)
{
    char *line = line_of("10.0.0.1");
    struct uplink_order o;
    struct fault why;

    (void)state;
    assert_int_equal(line_read(&o, line, "b", &why), 0);
    assert_int_equal(o.index, 0);
    assert_int_equal(o.port, 7);
    assert_int_equal(o.limit_ms, 9);
    assert_int_equal(o.hosts, 3);
    assert_int_equal(o.key[2], 3);
    assert_string_equal(o.heads[0], "10.0.0.1");
    assert_null(o.heads[1]);
    uplink_order_clear(&o);
    assert_int_equal(line_read(&o, line, "c", &why), ML_ERR_REFUSED);
    assert_non_null(strstr(why.text, "c is none of the nodes"));
    assert_int_equal(line_read(&o, line, NULL, &why), ML_ERR_REFUSED);
    free(line);
    line = line_of("::"); /* all addresses, the loopback's last */
    assert_non_null(strstr(line, "127.0.0.1"));
    assert_int_equal(line_read(&o, line, "a", &why), 0);
    assert_int_equal(o.index, 2);
    uplink_order_clear(&o);
    free(line);
}

static void expect_refused(const char *text, const char *words)
{
    struct uplink_order o;
    struct fault why;

    assert_int_equal(uplink_order_parse(&o, text, strlen(text), "a", &why), ML_ERR_REFUSED);
    if (!strstr(why.text, words))
        fail_msg("%s: %s", text, why.text);
}

static void test_malformed(void **state)
{
    struct uplink_order o;
    struct fault why;

    (void)state;
    expect_refused("", "no JSON");
    expect_refused("[]", "'port'");
    expect_refused("{\"port\":65536}", "'port'");
    expect_refused("{\"port\":7,\"limit_ms\":-1}", "'limit_ms'");
    expect_refused("{\"port\":7,\"limit_ms\":1,\"hosts\":70000}", "'hosts'");
    expect_refused("{\"port\":7,\"limit_ms\":1,\"hosts\":1,\"key\":\"01\"}", "'key'");
    expect_refused(START "\"hosts\":3}", "is none of the nodes");
    expect_refused(START "\"hosts\":3,\"nodes\":[[\"a\",3]]}", "'nodes'");
    expect_refused(START "\"hosts\":3,\"nodes\":[[1,1]]}", "'nodes'");
    expect_refused("{\"heads\":[\"a.b\"],\"port\":7,\"key\":\"" KEY
                   "\",\"limit_ms\":9,\"hosts\":1}",
                   "'heads'");
    expect_refused("{\"heads\":[],\"port\":7,\"key\":\"" KEY "\",\"limit_ms\":9,\"hosts\":1}",
                   "'heads'");
    assert_int_equal(line_read(&o, "{}", "a", &why), ML_ERR_REFUSED);
    assert_string_equal(why.text, "mlaunch has sent no line");
    assert_int_equal(line_read(&o, START "\"hosts\":3,\"nodes\":[[\"x\",1]]}\nmore", "a", &why), 0);
    assert_int_equal(o.index, 1); /* a line for one host needs no name */
    uplink_order_clear(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_malformed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

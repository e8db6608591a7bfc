/* SPDX-License-Identifier: MIT */
/* test_host_list.c: the hosts of -H. test_hostfile.c tests hostfiles, test_allocation.c batch
 * systems. */
#include "launcher/hosts/host_list_parse.h"
#include "launcher/hosts/host_name.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void test_parse(void **state)
{
    struct host_list *l = NULL;
    struct fault why = {0};

    (void)state;
    if (host_list_parse(&l, "a, b:4,[::1]:2,user@c,[fd00::1],localhost,127.0.0.1:8", &why))
        fail_msg("%s", why.text);
    assert_int_equal(l->count, 7);
    assert_string_equal(l->hosts[0].name, "a");
    assert_int_equal(l->hosts[0].slots, 0);
    assert_false(l->hosts[0].is_local);
    assert_string_equal(l->hosts[1].name, "b");
    assert_int_equal(l->hosts[1].slots, 4);
    assert_string_equal(l->hosts[2].name, "::1");
    assert_true(l->hosts[2].is_local);
    assert_string_equal(l->hosts[3].user, "user");
    assert_string_equal(l->hosts[3].name, "c");
    assert_string_equal(l->hosts[4].name, "fd00::1");
    assert_true(l->hosts[5].is_local);
    assert_true(l->hosts[6].is_local);
    assert_int_equal(l->hosts[6].slots, 8);
    assert_string_equal(l->source, "--hosts");
    host_list_destroy(l);
}

static void test_twice(void **state)
{
    struct host_list *l = NULL;
    struct fault why;

    (void)state;
    assert_int_equal(host_list_parse(&l, "a,b:3,a:2,u@a,b", &why), 0);
    assert_int_equal(l->count, 3);
    assert_int_equal(l->hosts[0].slots, 3);
    assert_int_equal(l->hosts[1].slots, 4);
    assert_string_equal(l->hosts[2].user, "u");
    assert_int_equal(l->hosts[2].slots, 0);
    host_list_destroy(l);
}

static void test_refused(void **state)
{
    static const struct {
        const char *text, *sentence;
    } cases[] = {{"", "--hosts: entry 1 (''): the host's name is empty"},
                 {"a,,b", "--hosts: entry 2 (''): the host's name is empty"},
                 {"a,", "--hosts: entry 2 (''): the host's name is empty"},
                 {"a,-b", "entry 2 ('-b'): the host's name '-b' begins with '-'"},
                 {"a:0", "entry 1 ('a:0'): slots is '0'"},
                 {"a:b", "entry 1 ('a:b'): slots is 'b'"},
                 {"::1", "an IPv6 address goes in brackets"},
                 {"a,[::1", "entry 2 ('[::1'): '[::1' has no closing ']'"},
                 {"a b", "must not contain ' '"},
                 {"a\x1b[2J", "contains a control character"},
                 {"a/b", "must not contain '/'"},
                 {"$(reboot)", "must not contain '$'"}};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct host_list *l = NULL;
        struct fault why = {0};

        assert_int_equal(host_list_parse(&l, cases[i].text, &why), ML_ERR_ARGUMENT);
        if (!strstr(why.text, cases[i].sentence))
            fail_msg("%s\n  gave: %s\n  expected: %s", cases[i].text, why.text, cases[i].sentence);
        assert_null(l);
    }
}

static void test_local(void **state)
{
    char own[256] = "";
    struct host_list *l = NULL;
    struct fault why;

    (void)state;
    assert_int_equal(host_list_local(&l, &why), 0);
    assert_int_equal(l->count, 1);
    assert_true(l->hosts[0].is_local);
    assert_int_equal(l->hosts[0].slots, 0);
    host_list_destroy(l);
    assert_true(host_name_is_local("127.3.2.1"));
    assert_false(host_name_is_local("127.x"));
    assert_false(host_name_is_local("localhost.evil.example"));
    assert_int_equal(gethostname(own, sizeof(own) - 1), 0);
    assert_true(host_name_is_local(own));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parse),
        cmocka_unit_test(test_twice),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_local),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

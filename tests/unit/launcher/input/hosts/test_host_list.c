/* SPDX-License-Identifier: MIT */
/* test_host_list.c: the hosts of -H. test_hostfile.c tests hostfiles, test_allocation.c batch
 * systems. */
#include "common/log.h"
#include "launcher/input/hosts/host_list_finish.h"
#include "launcher/input/hosts/host_list_parse.h"
#include "launcher/input/hosts/host_name.h"
#include "launcher/input/hosts/hostfile.h"

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
    if (host_list_parse(&l, "--hosts", "a, b:4,[::1]:2,user@c,[fd00::1],localhost,127.0.0.1:8",
                        &why))
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

static void test_brackets(void **state)
{
    static const char *const names[] = {"t1",  "t2", "t3", "n01-ib", "n07-ib", "c",
                                        "::1", "a",  "c",  "d",      "x7"};
    struct host_list *l = NULL;
    struct fault why = {0};

    (void)state;
    if (host_list_parse(&l, "--hosts", "t[1-3],u@n[01,07]-ib:4, c,[::1]:2,u@[a,c-d]:3,[x]7", &why))
        fail_msg("%s", why.text);
    assert_int_equal(l->count, 11);
    for (int i = 0; i < l->count; i++)
        assert_string_equal(l->hosts[i].name, names[i]);
    assert_string_equal(l->hosts[3].user, "u");
    assert_int_equal(l->hosts[4].slots, 4);
    assert_int_equal(l->hosts[6].slots, 2);
    assert_string_equal(l->hosts[8].user, "u");
    assert_int_equal(l->hosts[8].slots, 3);
    host_list_destroy(l);
}

static void log_keep(enum log_level level, const char *text, void *arg)
{
    (void)level;
    snprintf(arg, 256, "%s", text);
}

static void test_slots_or_port(void **state)
{
    static const struct {
        const char *text;
        bool warns;
    } cases[] = {{"root@a:22", true},  {"a:22", true},  {"a:2222,", true}, {"a[1-2]:22", true},
                 {"root@a:4,", false}, {"a:64", false}, {"a", false}};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct host_list *l = NULL;
        struct fault why = {0};
        char said[256] = "";

        log_to(log_keep, said);
        if (host_list_parse(&l, "--hosts", cases[i].text, &why))
            fail_msg("%s", why.text);
        log_to(NULL, NULL);
        if (cases[i].warns != (strstr(said, "slots; a port goes into ssh_config") != NULL))
            fail_msg("%s: %s", cases[i].text, said);
        host_list_destroy(l);
    }
}

/* -H with --hostfile: rows and columns of the wiring stay those of the hosts that are left. */
static void test_filter(void **state)
{
    static const char file[] =
        "[{\"ssh\": \"u@a\", \"slots\": 2, \"rdma\": [null, \"ab\", \"ac\"]},"
        " {\"ssh\": \"b.net\", \"slots\": 2, \"rdma\": [\"ba\", null, \"bc\"]},"
        " {\"ssh\": \"c\", \"slots\": 2, \"rdma\": [\"ca\", \"cb\", null]}]";
    static const char *const refused[] = {"d", "a,x@b", "v@a"};
    struct host_list *l = NULL, *only = NULL;
    struct fault why = {0};

    (void)state;
    assert_int_equal(hostfile_parse(&l, "h.json", file, sizeof(file) - 1, &why), 0);
    for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++) {
        assert_int_equal(host_list_parse(&only, "--hosts", refused[i], &why), 0);
        assert_int_equal(host_list_finish_filter(l, only, NULL, &why), ML_ERR_ARGUMENT);
        assert_non_null(strstr(why.text, "is not in the hostfile h.json"));
        host_list_destroy(only);
    }
    assert_int_equal(host_list_parse(&only, "--hosts", "c:1,a", &why), 0);
    assert_int_equal(host_list_finish_filter(l, only, NULL, &why), 0);
    host_list_destroy(only);
    assert_int_equal(l->count, 2);
    assert_string_equal(l->hosts[0].name, "a");
    assert_int_equal(l->hosts[0].slots, 2);
    assert_string_equal(l->hosts[1].name, "c");
    assert_int_equal(l->hosts[1].slots, 1);
    assert_int_equal(l->hosts[0].rdma_count, 2);
    assert_string_equal(l->hosts[0].rdma[1][0], "ac");
    assert_string_equal(l->hosts[1].rdma[0][0], "ca");
    host_list_destroy(l);
}

static void test_twice(void **state)
{
    struct host_list *l = NULL;
    struct fault why;

    (void)state;
    assert_int_equal(host_list_parse(&l, "--hosts", "a,b:3,a:2,u@a,b", &why), 0);
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
                 {",", "--hosts: entry 1 (''): the host's name is empty"},
                 {"a,,", "--hosts: entry 2 (''): the host's name is empty"},
                 {"t[1-", "--hosts: entry 1 ('t[1-'): cannot parse 't[1-'"},
                 {"a,t[4-1]", "--hosts: entry 2 ('t[4-1]'): cannot parse 't[4-1]'"},
                 {"t[1-2]:x", "slots is 'x'"},
                 {"t[1-2];b", "must not contain ';'"},
                 {"t[1-99999]", "more than 65536 hosts"},
                 {"[::1]x", "'[::1]x': only ':NUMBER' may follow the ']'"},
                 {"[b-a]", "--hosts: entry 1 ('[b-a]'): cannot parse '[b-a]'"},
                 {"[]", "--hosts: entry 1 ('[]'): cannot parse '[]'"},
                 {"a,-b", "entry 2 ('-b'): the host's name '-b' begins with '-'"},
                 {"a:0", "entry 1 ('a:0'): slots is '0'"},
                 {"a:b", "entry 1 ('a:b'): slots is 'b'"},
                 {"::1", "an IPv6 address goes in brackets"},
                 {"a,[::1", "entry 2 ('[::1'): '[::1' has no closing ']'"},
                 {"a b", "must not contain ' '"},
                 {"a\x1b\x63", "contains a control character"},
                 {"a/b", "must not contain '/'"},
                 {"$(reboot)", "must not contain '$'"}};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct host_list *l = NULL;
        struct fault why = {0};

        assert_int_equal(host_list_parse(&l, "--hosts", cases[i].text, &why), ML_ERR_ARGUMENT);
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
    assert_true(host_name_is_local("LocalHost."));
    assert_true(host_name_is_local("::ffff:127.0.0.1"));
    assert_false(host_name_is_local("192.0.2.1"));
    assert_false(host_name_is_local("0.0.0.0"));
    assert_false(host_name_is_local("fe80::1%none"));
    assert_false(host_name_is_local("."));
    assert_true(host_name_is_own_user(NULL));
    assert_false(host_name_is_own_user("no such user"));
}

static void test_same(void **state)
{
    (void)state;
    assert_true(host_name_is_same("n1", "N1.cluster"));
    assert_true(host_name_is_same("n1.cluster", "N1.Cluster."));
    assert_true(host_name_is_same("n1.", "n1.cluster"));
    assert_false(host_name_is_same("n1.cluster.", "n1.other."));
    assert_false(host_name_is_same("n1", "n12"));
    assert_false(host_name_is_same("10.0.0.1", "10.0.0.2"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parse),         cmocka_unit_test(test_brackets),
        cmocka_unit_test(test_slots_or_port), cmocka_unit_test(test_filter),
        cmocka_unit_test(test_twice),         cmocka_unit_test(test_refused),
        cmocka_unit_test(test_local),         cmocka_unit_test(test_same),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* test_host_list.c: -H, and the lists of batch systems. Hostfiles: test_hostfile.c. */
#include "launcher/allocation.h"
#include "launcher/host_list.h"
#include "launcher/host_name.h"
#include "launcher/nearest.h"
#include "launcher/slurm_list.h"

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
                 {"a,[::1", "entry 2 ('[::1'): '[::1' lacks the closing ']'"},
                 {"a b", "can't hold ' '"},
                 {"a\x1b[2J", "holds a control character"},
                 {"a/b", "can't hold '/'"},
                 {"$(reboot)", "can't hold '$'"}};

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

static void expect_hosts(const char *text, const char *expected)
{
    struct string_list l = {0};
    struct fault why = {0};
    char joined[256] = "";
    int n = 0;

    if (slurm_expand_hosts(&l, text, 100, &why))
        fail_msg("%s: %s", text, why.text);
    for (size_t i = 0; i < l.count; i++)
        n += snprintf(joined + n, sizeof(joined) - (size_t)n, "%s%s", i ? " " : "", l.items[i]);
    assert_string_equal(joined, expected);
    string_list_clear(&l);
}

static void test_slurm(void **state)
{
    static const char *const malformed[] = {"",       "a,,b", "a[", "a[]",      "a[1-]",
                                            "a[3-1]", "a[x]", "a]", "a[1-200]", "a[1-9999999999]"};
    struct fault why;
    int *counts;

    (void)state;
    expect_hosts("a", "a");
    expect_hosts("a,b", "a b");
    expect_hosts("gpu[01-03,7],login", "gpu01 gpu02 gpu03 gpu7 login");
    expect_hosts("r[1-2]n[1-2]", "r1n1 r1n2 r2n1 r2n2");
    expect_hosts("n[8-11].x", "n8.x n9.x n10.x n11.x");
    for (size_t i = 0; i < sizeof(malformed) / sizeof(*malformed); i++) {
        struct string_list l = {0};

        assert_int_equal(slurm_expand_hosts(&l, malformed[i], 100, &why), ML_ERR_ARGUMENT);
        string_list_clear(&l);
    }
    assert_int_equal(slurm_expand_counts(&counts, 4, "4(x3),2", &why), 0);
    assert_int_equal(counts[2], 4);
    assert_int_equal(counts[3], 2);
    free(counts);
    assert_int_equal(slurm_expand_counts(&counts, 2, "8", &why), 0);
    assert_int_equal(counts[1], 8);
    free(counts);
    assert_int_equal(slurm_expand_counts(&counts, 3, "4(x2)", &why), ML_ERR_ARGUMENT);
    assert_int_equal(slurm_expand_counts(&counts, 1, "4(x2)", &why), ML_ERR_ARGUMENT);
    assert_int_equal(slurm_expand_counts(&counts, 1, "0", &why), ML_ERR_ARGUMENT);
    assert_int_equal(slurm_expand_counts(&counts, 1, "2(x", &why), ML_ERR_ARGUMENT);
}

static void test_allocation(void **state)
{
    char *none[] = {(char *)"HOME=/", (char *)"PBS_NODEFILE=", NULL};
    char *slurm[] = {(char *)"SLURM_JOB_NODELIST=n[1-2]", (char *)"SLURM_TASKS_PER_NODE=3,1", NULL};
    char *lsf[] = {(char *)"LSB_MCPU_HOSTS=a 4 b 2 ", NULL};
    char *bad[] = {(char *)"LSB_MCPU_HOSTS=a 4 b", NULL};
    char path[] = "/tmp/test_host_list.XXXXXX", variable[64];
    char *files[] = {variable, NULL};
    int fd = mkstemp(path);
    struct host_list *l;
    struct fault why = {0};

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(allocation_read(&l, none, &why), 0);
    assert_null(l);
    assert_int_equal(allocation_read(&l, slurm, &why), 0);
    assert_int_equal(l->count, 2);
    assert_string_equal(l->hosts[1].name, "n2");
    assert_int_equal(l->hosts[0].slots, 3);
    host_list_destroy(l);
    assert_int_equal(allocation_read(&l, lsf, &why), 0);
    assert_int_equal(l->hosts[1].slots, 2);
    host_list_destroy(l);
    assert_int_equal(allocation_read(&l, bad, &why), ML_ERR_ARGUMENT);
    assert_string_equal(why.text, "the batch system's LSB_MCPU_HOSTS: no number of slots behind b");
    assert_int_equal(write(fd, "a\na\nb\n", 6), 6);
    snprintf(variable, sizeof(variable), "PBS_NODEFILE=%s", path);
    assert_int_equal(allocation_read(&l, files, &why), 0);
    assert_int_equal(l->count, 2);
    assert_int_equal(l->hosts[0].slots, 2);
    host_list_destroy(l);
    assert_int_equal(ftruncate(fd, 0) || lseek(fd, 0, SEEK_SET), 0);
    assert_int_equal(write(fd, "a 4 all.q@a UNDEFINED\nb 2 x\n", 28), 28);
    snprintf(variable, sizeof(variable), "PE_HOSTFILE=%s", path);
    assert_int_equal(allocation_read(&l, files, &why), 0);
    assert_int_equal(l->hosts[0].slots, 4);
    host_list_destroy(l);
    close(fd);
    unlink(path);
}

static void test_nearest(void **state)
{
    (void)state;
    assert_int_equal(nearest_distance("", ""), 0);
    assert_int_equal(nearest_distance("abc", ""), 3);
    assert_int_equal(nearest_distance("kitten", "sitting"), 3);
    assert_int_equal(nearest_distance("hots", "host"), 1);
    assert_int_equal(nearest_distance("HOST", "host"), 0);
    assert_true(nearest_is_slip("slot", "slots"));
    assert_false(nearest_is_slip("comment", "slots"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parse),   cmocka_unit_test(test_twice),
        cmocka_unit_test(test_refused), cmocka_unit_test(test_local),
        cmocka_unit_test(test_slurm),   cmocka_unit_test(test_allocation),
        cmocka_unit_test(test_nearest),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

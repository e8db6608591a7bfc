/* SPDX-License-Identifier: MIT */
/* test_allocation.c: the hosts that batch systems give, in all forms of their variables and
 * files. */
#include "launcher/input/hosts/allocation.h"
#include "launcher/input/hosts/host_list_parse.h"
#include "launcher/input/hosts/node_list.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void expect_nodes(const char *text, const char *expected)
{
    struct string_list l = {0};
    struct fault why = {0};
    char joined[512] = "";
    int n = 0;

    if (node_list_expand(&l, text, 100, &why))
        fail_msg("%s: %s", text, why.text);
    for (size_t i = 0; i < l.count; i++)
        n += snprintf(joined + n, sizeof(joined) - (size_t)n, "%s%s", i ? " " : "", l.items[i]);
    assert_string_equal(joined, expected);
    string_list_clear(&l);
}

static void test_nodes(void **state)
{
    (void)state;
    expect_nodes("a", "a");
    expect_nodes("a,b", "a b");
    expect_nodes("n[5]", "n5");
    expect_nodes("gpu[01-03,7],login", "gpu01 gpu02 gpu03 gpu7 login");
    expect_nodes("r[1-2]n[1-2]", "r1n1 r1n2 r2n1 r2n2");
    expect_nodes("n[8-11].x", "n8.x n9.x n10.x n11.x");
    expect_nodes("n[098-101]", "n098 n099 n100 n101");
    expect_nodes("n[1-3,07-11],gpu-[a-b][1-2],login",
                 "n1 n2 n3 n07 n08 n09 n10 n11 gpu-a1 gpu-a2 gpu-b1 gpu-b2 login");
    expect_nodes("x[A,c-d,3]-ib,[1-2]n", "xA-ib xc-ib xd-ib x3-ib 1n 2n");
}

/* Every second host of a cluster, in brackets of several thousand bytes. */
static void test_nodes_scattered(void **state)
{
    struct string_list l = {0};
    struct fault why = {0};
    char text[16384] = "n[0000";
    size_t used = strlen(text);

    (void)state;
    for (int i = 2; i < 4000; i += 2)
        used += (size_t)snprintf(text + used, sizeof(text) - used, ",%04d", i);
    snprintf(text + used, sizeof(text) - used, "]-ib,login");
    if (node_list_expand(&l, text, 10000, &why))
        fail_msg("%s", why.text);
    assert_int_equal(l.count, 2001);
    assert_string_equal(l.items[1999], "n3998-ib");
    string_list_clear(&l);
}

static void test_nodes_malformed(void **state)
{
    static const char *const cases[] = {"",
                                        "a,,b",
                                        ",a",
                                        "a,",
                                        "a[",
                                        "a[]",
                                        "a[1-]",
                                        "a[-1]",
                                        "a[3-1]",
                                        "a]",
                                        "]a[1]",
                                        "a[1]]",
                                        "a[[1]]",
                                        "a[1,]",
                                        "a[1-2-3]",
                                        "a[1-200]",
                                        "a[c-a]",
                                        "a[a-3]",
                                        "a[ab]",
                                        "a[a-]",
                                        "a[a-B]",
                                        "a[1 ]",
                                        "a[a-bc]",
                                        "a[1-9999999999]",
                                        "a[9999999999]",
                                        "a[1-2][",
                                        "a[0x1]",
                                        "a[+1]"};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct string_list l = {0};
        struct fault why = {0};

        if (node_list_expand(&l, cases[i], 100, &why) != ML_ERR_ARGUMENT)
            fail_msg("'%s' was taken", cases[i]);
        string_list_clear(&l);
    }
}

static void test_counts(void **state)
{
    static const char *const malformed[] = {"",        "4(x2)", "0",     "2(x",
                                            "4(x3)x",  "(x4)",  "1,1,1", "4,",
                                            "1(x0),1", "x",     "1(x5)", "99999999999999999999"};
    struct fault why;
    int *counts;

    (void)state;
    assert_int_equal(node_list_counts(&counts, 4, "4(x3),2", &why), 0);
    assert_int_equal(counts[2], 4);
    assert_int_equal(counts[3], 2);
    free(counts);
    assert_int_equal(node_list_counts(&counts, 4, "2(x3),1", &why), 0);
    assert_int_equal(counts[3], 1);
    free(counts);
    assert_int_equal(node_list_counts(&counts, 2, "8", &why), 0);
    assert_int_equal(counts[1], 8);
    free(counts);
    for (size_t i = 0; i < sizeof(malformed) / sizeof(*malformed); i++)
        if (node_list_counts(&counts, 4, malformed[i], &why) != ML_ERR_ARGUMENT)
            fail_msg("'%s' was taken", malformed[i]);
    assert_int_equal(node_list_counts(&counts, 3, "4(x2)", &why), ML_ERR_ARGUMENT);
    assert_string_equal(why.text, "'4(x2)' describes 2 of 3 hosts");
}

/* Compares the hosts of `environment`, as "source: host/slots ...", or the message. */
static void expect(const char *const *environment, const char *expected)
{
    struct host_list *l = NULL;
    struct fault why = {0};
    char text[512];
    int n;

    if (allocation_read(&l, (char *const *)environment, &why)) {
        assert_string_equal(why.text, expected);
        return;
    }
    if (!l)
        fail_msg("no allocation: %s", *environment);
    n = snprintf(text, sizeof(text), "%s:", l->source);
    for (int i = 0; i < l->count; i++)
        n += snprintf(text + n, sizeof(text) - (size_t)n, " %s/%d%s", l->hosts[i].name,
                      l->hosts[i].slots, l->hosts[i].node ? "" : "-");
    host_list_destroy(l);
    assert_string_equal(text, expected);
}

#define ENV(...) ((const char *const[]){__VA_ARGS__, NULL})
#define SLURM    "cannot read the hosts of this Slurm allocation: "

static void test_slurm(void **state)
{
    struct host_list *l;
    struct fault why;

    (void)state;
    assert_int_equal(allocation_read(&l, (char *const *)ENV("HOME=/", "SLURM_JOB_NODELIST="), &why),
                     0);
    assert_null(l);
    expect(ENV("SLURM_JOB_NODELIST=n[1-2]", "SLURM_TASKS_PER_NODE=3,1", "SLURM_JOB_ID=7"),
           "Slurm job 7: n1/3 n2/1");
    expect(ENV("SLURM_NODELIST=n[1-2]", "SLURM_NNODES=2", "SLURM_JOB_CPUS_PER_NODE=8(x2)",
               "SLURM_CPUS_PER_TASK=3"),
           "the Slurm allocation: n1/2 n2/2");
    expect(ENV("SLURM_JOB_NODELIST=n[1-3]", "SLURM_TASKS_PER_NODE=1(x2)",
               "SLURM_STEP_TASKS_PER_NODE=1(x2)", "SLURM_STEP_NODELIST=n[1-2]",
               "SLURM_JOB_CPUS_PER_NODE=4(x3)"),
           "the Slurm allocation: n1/4 n2/4 n3/4");
    expect(ENV("SLURM_JOB_NODELIST=n[1-", "SLURM_TASKS_PER_NODE=1"),
           SLURM "SLURM_JOB_NODELIST: cannot parse 'n[1-'");
    expect(ENV("SLURM_JOB_NODELIST=a\x1b[", "SLURM_TASKS_PER_NODE=1"),
           SLURM "SLURM_JOB_NODELIST: cannot parse 'a?['");
    expect(ENV("SLURM_JOB_NODELIST=n[1-2]", "SLURM_TASKS_PER_NODE=2(3x)"),
           SLURM "SLURM_TASKS_PER_NODE: cannot parse '2(3x)'");
    expect(ENV("SLURM_JOB_NODELIST=n[1-2]", "SLURM_JOB_NUM_NODES=3"),
           SLURM "SLURM_JOB_NODELIST names 2 hosts, but SLURM_JOB_NUM_NODES is '3'");
    expect(ENV("SLURM_JOB_NODELIST=n1", "SLURM_JOB_CPUS_PER_NODE=8", "SLURM_CPUS_PER_TASK=two"),
           SLURM "SLURM_CPUS_PER_TASK: 'two' is not a number");
    expect(ENV("SLURM_JOB_NODELIST=n1:3"), SLURM "SLURM_JOB_NODELIST: 'n1:3' is not a host name");
}

static void test_slurm_components(void **state)
{
    const char *const *environment =
        ENV("SLURM_HET_SIZE=2", "SLURM_JOB_ID=4", "SLURM_JOB_ID_HET_GROUP_0=3",
            "SLURM_JOB_ID_HET_GROUP_1=4", "SLURM_JOB_NODELIST_HET_GROUP_0=a",
            "SLURM_JOB_NODELIST_HET_GROUP_1=b[1-2]", "SLURM_TASKS_PER_NODE_HET_GROUP_1=2,1");
    struct host_list *l;
    struct fault why;

    (void)state;
    expect(environment, "Slurm job 4: a/1 b1/2 b2/1");
    assert_int_equal(allocation_read(&l, (char *const *)environment, &why), 0);
    assert_int_equal(l->hosts[0].component, 1);
    assert_int_equal(l->hosts[2].component, 2);
    host_list_destroy(l);
    assert_int_equal(host_list_parse(&l, "--hosts", "b2", &why), 0);
    assert_int_equal(allocation_match(l, (char *const *)environment, &why), 0);
    assert_int_equal(l->hosts[0].component, 2);
    host_list_destroy(l);
    expect(ENV("SLURM_HET_SIZE=two", "SLURM_JOB_NODELIST=a"),
           SLURM "SLURM_HET_SIZE: 'two' is not a number of components");
    expect(ENV("SLURM_HET_SIZE=1", "SLURM_JOB_NODELIST_HET_GROUP_0=b[1-2]",
               "SLURM_JOB_NUM_NODES_HET_GROUP_0=3"),
           SLURM
           "SLURM_JOB_NODELIST_HET_GROUP_0 names 2 hosts, but SLURM_JOB_NUM_NODES_HET_GROUP_0 "
           "is '3'");
}

static void test_lsf(void **state)
{
    (void)state;
    expect(ENV("LSB_MCPU_HOSTS=a 4 b 2 ", "LSB_HOSTS=c", "LSB_JOBID=12"), "LSF job 12: a/4- b/2-");
    expect(ENV("LSB_HOSTS=a a b"), "the LSF allocation: a/2- b/1-");
    expect(ENV("LSB_MCPU_HOSTS=a 4 b"),
           "cannot read the hosts of this LSF allocation: LSB_MCPU_HOSTS: 'b' is not "
           "followed by a number of slots");
    expect(ENV("LSB_HOSTS= "),
           "cannot read the hosts of this LSF allocation: LSB_HOSTS: names no host");
}

/* NAME=path of a file with `text`, for expect(); `{}` in `expected` is the path. */
static void expect_file(const char *name, const char *text, const char *expected)
{
    char path[] = "/tmp/test_allocation.XXXXXX", variable[80], full[512];
    const char *gap = strstr(expected, "{}");
    int fd = mkstemp(path);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (int)strlen(text));
    close(fd);
    snprintf(variable, sizeof(variable), "%s=%s", name, path);
    if (gap)
        snprintf(full, sizeof(full), "%.*s%s%s", (int)(gap - expected), expected, path, gap + 2);
    else
        snprintf(full, sizeof(full), "%s", expected);
    expect(ENV(variable), full);
    unlink(path);
}

static void test_files(void **state)
{
    (void)state;
    expect_file("PBS_NODEFILE", "a\nb\na\n\nb.x\n", "the PBS allocation: a/2- b/1- b.x/1-");
    expect_file("OAR_FILE_NODES", "a.x\nb\na.x\n", "the OAR allocation: a.x/2- b/1-");
    expect_file("COBALT_NODEFILE", "a\nb\n", "the Cobalt allocation: a/1- b/1-");
    expect_file("LSB_DJOB_HOSTFILE", "a\na\r\nb", "the LSF allocation: a/2- b/1-");
    expect_file("PE_HOSTFILE", "a 4 all.q@a UNDEFINED\nb   2 x <NULL>\n",
                "the SGE allocation: a/4- b/2-");
    expect_file("PBS_NODEFILE", "a\n-b\n",
                "cannot read the hosts of this PBS allocation: PBS_NODEFILE: {} line 2: "
                "the host's name '-b' begins with '-', as an option would");
    expect_file("PBS_NODEFILE", "\n",
                "cannot read the hosts of this PBS allocation: PBS_NODEFILE: {} names no "
                "host");
    expect_file("PE_HOSTFILE", "a four\n",
                "cannot read the hosts of this SGE allocation: PE_HOSTFILE: {} line 1: 'a' "
                "is not followed by a number of slots");
    expect(ENV("PBS_NODEFILE=/nonexistent"),
           "cannot read the hosts of this PBS allocation: PBS_NODEFILE: /nonexistent: "
           "cannot be opened: No such file or directory");
}

static void test_match(void **state)
{
    const char *const *environment = ENV("SLURM_JOB_NODELIST=n[1-2].x,m", "SLURM_TASKS_PER_NODE=1");
    struct host_list *l;
    struct fault why;

    (void)state;
    assert_int_equal(host_list_parse(&l, "--hosts", "n2,N1.X,m.y,n1.z,other", &why), 0);
    assert_int_equal(allocation_match(l, (char *const *)environment, &why), 0);
    assert_string_equal(l->hosts[0].node, "n2.x");
    assert_string_equal(l->hosts[1].node, "n1.x");
    assert_string_equal(l->hosts[2].node, "m");
    assert_null(l->hosts[3].node);
    assert_null(l->hosts[4].node);
    host_list_destroy(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nodes),
        cmocka_unit_test(test_nodes_malformed),
        cmocka_unit_test(test_nodes_scattered),
        cmocka_unit_test(test_slurm_components),
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_slurm),
        cmocka_unit_test(test_lsf),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_match),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

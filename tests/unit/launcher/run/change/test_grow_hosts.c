/* SPDX-License-Identifier: MIT */
/* test_grow_hosts.c: what `mlaunch grow -H` says, and how a plan grows by it. */
#include "common/net/job_file.h"
#include "launcher/input/options/options_load.h"
#include "launcher/input/plan/plan_create.h"
#include "launcher/run/change/grow_hosts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { WORDS = 32 };

static char *environment[] = {(char *)"MLAUNCH_ALGO=ring", NULL};

/* Words are separated by blanks. */
static struct plan *made(const char *line)
{
    char copy[256], *argv[WORDS], *rest = copy;
    struct options_source from = {1, argv, environment, NULL, NULL};
    struct options *o = NULL;
    struct plan *p = NULL;
    struct fault why = {0};

    snprintf(copy, sizeof(copy), "%s", line);
    argv[0] = (char *)"mlaunch";
    while (from.argc < WORDS && (argv[from.argc] = strsep(&rest, " ")))
        from.argc++;
    if (options_load_from(&o, &from, &why) || plan_create(&p, o, environment, &why))
        fail_msg("%s: %s", line, why.text);
    return p;
}

static void unmake(struct plan *p)
{
    struct options *o = (struct options *)(uintptr_t)p->options;

    plan_destroy(p);
    options_destroy(o);
}

/* "abc 0011+2": the names of the plan's hosts, the host of each rank, and how many spare hosts. */
static void expect(const struct plan *p, const char *expected)
{
    char got[64], *at = got;

    for (int i = 0; i < p->where->host_count; i++)
        at += sprintf(at, "%s", plan_host(p, i)->name);
    at += sprintf(at, " ");
    for (int r = 0; r < p->where->size; r++)
        at += sprintf(at, "%d", p->where->ranks[r].host);
    sprintf(at, "+%d", p->where->spare_count);
    assert_string_equal(got, expected);
}

static void test_grows(void **state)
{
    static const struct {
        const char *line, *hosts, *before, *after;
    } cases[] = {
        {"-n 2 --elastic 1 p", "localhost:2", "localhost 00+0", "localhost 0000+0"},
        {"-H a,b --elastic 1 p", "b", "ab 01+0", "ab 011+0"},
        {"-H a,b --elastic 1 p", "c:2", "ab 01+0", "abc 0122+0"},
        {"-H a,b --elastic 1 p", "a,c:2,d,b", "ab 01+0", "abcd 0102231+0"},
        {"-H a,b --elastic 1 p", "c,c", "ab 01+0", "abc 0122+0"},
        {"-H a,b --elastic 1 p", "n[1-2]", "ab 01+0", "abn1n2 0123+0"},
        {"-H a,b --elastic 1 p", "a.cluster", "ab 01+0", "ab 010+0"},
        {"-H a,b --elastic 1 --restarts 1 --spare-hosts s,t p", "c", "ab 01+2", "abc 012+2"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct plan *p = made(cases[i].line), grown;
        struct roster where;
        struct plan_growth g;
        struct fault why = {0};
        int size = p->where->size, places = plan_places(p), hosts = plan_host_places(p);

        expect(p, cases[i].before);
        if (grow_hosts_read(&g, p, cases[i].hosts, environment, &why) ||
            plan_growth_preview(&grown, &where, p, &g, &why))
            fail_msg("%s: %s", cases[i].hosts, why.text);
        expect(&grown, cases[i].after);
        expect(p, cases[i].before); /* still */
        free(where.hosts);
        assert_int_equal(plan_growth_apply(p, &g), size);
        expect(p, cases[i].after);
        assert_int_equal(plan_places(p), places);
        assert_true(plan_host_places(p) <= hosts); /* for which there is room */
        for (int k = 0; k < p->where->spare_count; k++)
            assert_string_equal(plan_host(p, p->where->host_count + k)->name, k ? "t" : "s");
        plan_growth_clear(&g);
        unmake(p);
    }
}

/* A host that comes is as the others are. */
static void test_host(void **state)
{
    struct plan *p = made("-H a,b:2 --elastic 1 p");
    struct host *h, *first = plan_host(p, 0);
    struct plan_growth g;
    struct fault why;

    (void)state;
    assert_int_equal(grow_hosts_read(&g, p, "u@c:2,d", environment, &why), 0);
    plan_growth_apply(p, &g);
    assert_ptr_equal(plan_host(p, 0), first); /* they stay where they are */
    h = plan_host(p, 2);
    assert_string_equal(h->name, "c");
    assert_string_equal(h->user, "u");
    assert_int_equal(h->launch_method, LAUNCH_METHOD_SSH);
    assert_string_equal(h->env[0], "MLAUNCH_ALGO=ring");
    assert_null(h->env[1]);
    assert_int_equal(p->where->ranks[4].local_rank, 1);
    plan_growth_clear(&g);
    unmake(p);
}

static void test_command(void **state)
{
    struct plan *p = made("--agent-command run_{host} -H a,b --elastic 1 p");
    struct plan_growth g;
    struct fault why;

    (void)state;
    assert_int_equal(grow_hosts_read(&g, p, "c", environment, &why), 0);
    plan_growth_apply(p, &g);
    assert_int_equal(plan_host(p, 2)->launch_method, LAUNCH_METHOD_COMMAND);
    plan_growth_clear(&g);
    unmake(p);
}

static void test_refused(void **state)
{
    static const struct {
        const char *line, *hosts, *word;
    } cases[] = {
        {"-H a,b --elastic 1 p", "", "-H"},
        {"-H a,b --elastic 1 p", "a b", "a b"},
        {"-H a,b --elastic 1 p", "c:0", "c:0"},
        {"-H a,b --elastic 1 p", "c:x", "c:x"},
        {"-H a,b --elastic 1 p", "a:200,c:57", "there is room for 256 more ranks"},
        {"-n 2 --elastic 1 p", "c", "host c cannot join: the job has one host, localhost"},
        {"-H a,b --elastic 1 --restarts 1 --spare-hosts s p", "s", "host s is a spare one"},
        {"--await 2 --key-file k --ppn 1 --elastic 1 p", "c", "--await or mlaunch join have"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct plan *p = made(cases[i].line);
        struct plan_growth g;
        struct fault why = {0};

        assert_int_not_equal(grow_hosts_read(&g, p, cases[i].hosts, environment, &why), 0);
        if (!strstr(why.text, cases[i].word))
            fail_msg("-H %s: %s", cases[i].hosts, why.text);
        unmake(p);
    }
}

/* Each of them may have been misspelt, and stays in the plan's list. */
static void test_many_tries(void **state)
{
    struct plan *p = made("-H a,b --elastic 1 p");
    const struct host *first = plan_host(p, 0);
    struct plan_growth g;
    struct fault why;

    (void)state;
    for (int i = 0; i < JOB_GROW_MOST; i++) {
        assert_int_equal(grow_hosts_read(&g, p, "c", environment, &why), 0);
        plan_growth_clear(&g);
    }
    assert_int_equal(grow_hosts_read(&g, p, "c", environment, &why), ML_ERR_STATE);
    assert_non_null(strstr(why.text, "host c cannot join: 256 others have failed to"));
    assert_ptr_equal(plan_host(p, 0), first);
    assert_int_equal(grow_hosts_read(&g, p, "b", environment, &why), 0);
    plan_growth_clear(&g);
    unmake(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_grows),      cmocka_unit_test(test_host),
        cmocka_unit_test(test_command),    cmocka_unit_test(test_refused),
        cmocka_unit_test(test_many_tries),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

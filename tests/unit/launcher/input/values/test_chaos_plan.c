/* SPDX-License-Identifier: MIT */
/* test_chaos_plan.c: the values of --chaos. */
#include "launcher/input/values/chaos_plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void test_whole(void **state)
{
    struct fault why = {0};
    struct chaos_plan p;

    (void)state;
    assert_int_equal(chaos_plan_parse(&p,
                                      "kill 3 after 10s; stop 2,4-5 after 1m for 500ms;;\n"
                                      "\tcut  b after 20 ;stop all for 1h",
                                      &why),
                     0);
    assert_int_equal(p.count, 4);
    assert_int_equal(p.actions[0].kind, CHAOS_KILL);
    assert_int_equal(p.actions[0].after_ms, 10000);
    assert_true(rank_set_has(&p.actions[0].ranks, 3));
    assert_false(rank_set_has(&p.actions[0].ranks, 2));
    assert_int_equal(p.actions[1].kind, CHAOS_STOP);
    assert_int_equal(p.actions[1].after_ms, 60000);
    assert_int_equal(p.actions[1].for_ms, 500);
    assert_true(rank_set_has(&p.actions[1].ranks, 5));
    assert_false(rank_set_has(&p.actions[1].ranks, 3));
    assert_int_equal(p.actions[2].kind, CHAOS_CUT);
    assert_string_equal(p.actions[2].host, "b");
    assert_int_equal(p.actions[2].after_ms, 20000);
    assert_int_equal(p.actions[3].after_ms, 0);
    assert_int_equal(p.actions[3].for_ms, 3600000);
    assert_true(rank_set_has(&p.actions[3].ranks, 1000000));
}

static void test_refused(void **state)
{
    static const struct {
        const char *text, *sentence;
    } cases[] = {
        {"", "it names no action: write kill RANKS, stop RANKS for TIME or cut HOST"},
        {" ; ;\n", "it names no action"},
        {"explode 3", "'explode 3': an action begins with kill, stop or cut"},
        {"kill 1; killl 3", "'killl 3': an action begins with"},
        {"kill", "'kill': it does not say which ranks"},
        {"cut", "'cut': it does not say which host"},
        {"kill 3x", "'3x' is not a list of ranks: write numbers and ranges, as 0,3-5, or all"},
        {"kill 5-3", "'5-3' is not a list of ranks"},
        {"kill 3,", "'3,' is not a list of ranks"},
        {"kill -1", "'-1' is not a list of ranks"},
        {"kill alle", "'alle' is not a list of ranks"},
        {"kill 99999999999", "'99999999999' is not a list of ranks"},
        {"stop 2", "'stop 2': it does not say for how long: write stop RANKS for 5s"},
        {"stop 2 for 0s", "it does not say for how long"},
        {"stop 2 for 5s for 6s", "it names the same time twice"},
        {"stop 2 at 5s", "behind the ranks stand 'for TIME' and 'after TIME'"},
        {"kill 2 for 5s", "behind what is meant stands 'after TIME' or nothing"},
        {"kill 2 after", "a time is written as 10s, 500ms, 2m or 1h, at most 24h"},
        {"kill 2 after 5x", "a time is written as"},
        {"kill 2 after -5", "a time is written as"},
        {"kill 2 after 25h", "a time is written as"},
        {"kill 2 after 99999999999999999999", "a time is written as"},
        {"kill 2 after 1s after 1s after 1s", "an action is not that long"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct chaos_plan p;
        struct fault why = {0};

        if (chaos_plan_parse(&p, cases[i].text, &why) != ML_ERR_ARGUMENT ||
            !strstr(why.text, cases[i].sentence))
            fail_msg("%s: %s", cases[i].text, why.text);
    }
}

static void test_limits(void **state)
{
    char text[CHAOS_ACTIONS * 8 + 16] = "", host[2000];
    struct fault why = {0};
    struct chaos_plan p;

    (void)state;
    for (int i = 0; i < CHAOS_ACTIONS; i++)
        strcat(text, "kill 1;");
    assert_int_equal(chaos_plan_parse(&p, text, &why), 0);
    strcat(text, "kill 1");
    assert_int_equal(chaos_plan_parse(&p, text, &why), ML_ERR_ARGUMENT);
    assert_non_null(strstr(why.text, "there are more than 64 actions"));
    memset(host, 'h', sizeof(host));
    memcpy(host, "cut ", 4);
    host[4 + 255] = '\0';
    assert_int_equal(chaos_plan_parse(&p, host, &why), 0);
    host[4 + 255] = 'h';
    host[4 + 256] = '\0';
    assert_int_equal(chaos_plan_parse(&p, host, &why), ML_ERR_ARGUMENT);
    assert_non_null(strstr(why.text, "no host has such a long name"));
    host[4 + 256] = 'h';
    host[sizeof(host) - 1] = '\0';
    assert_int_equal(chaos_plan_parse(&p, host, &why), ML_ERR_ARGUMENT);
}

static void test_ranks_of_the_job(void **state)
{
    struct fault why = {0};
    struct rank_set s;

    (void)state;
    assert_int_equal(rank_set_parse(&s, "0,2-3", 5, &why), 0);
    assert_int_equal(rank_set_check(&s, 4, &why), 0);
    assert_int_equal(rank_set_check(&s, 3, &why), ML_ERR_ARGUMENT);
    assert_string_equal(why.text, "there is no rank 3: the job has ranks 0 to 2");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_ranks_of_the_job),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* test_vary_values.c: the settings of --vary in all forms, and what is refused. */
#include "launcher/tools/bench/compare/vary_values.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* The options of each setting, separated by blanks, and the settings by "; ". */
static void becomes(const char *text, const char *expected)
{
    struct vary_values v;
    struct fault why = {0};
    char all[512] = "";

    if (vary_values_parse(&v, text, &why))
        fail_msg("%s: %s", text, why.text);
    for (int i = 0; i < v.count; i++) {
        strcat(all, i ? "; " : "");
        for (size_t k = 0; k < v.words[i].count; k++) {
            strcat(all, k ? " " : "");
            strcat(all, v.words[i].items[k]);
        }
    }
    assert_string_equal(all, expected);
    vary_values_clear(&v);
}

static void refused(const char *text, const char *sentence)
{
    struct vary_values v;
    struct fault why = {0};

    assert_int_equal(vary_values_parse(&v, text, &why), ML_ERR_ARGUMENT);
    if (!strstr(why.text, sentence))
        fail_msg("%s: %s", text, why.text);
}

static void test_settings(void **state)
{
    (void)state;
    becomes("ALGO=a:ring|a:direct|", "-x ALGO=a:ring; -x ALGO=a:direct; ");
    becomes("-x FLAG=1|", "-x FLAG=1; ");
    becomes("|-x FLAG=1", "; -x FLAG=1");
    becomes("-x FLAG=1|0", "-x FLAG=1; -x FLAG=0");
    becomes("--local net|shm", "--local net; --local shm");
    becomes("--backend=tcp|rdma|--local net", "--backend=tcp; --backend=rdma; --local net");
    becomes("A=1|B=2", "-x A=1; -x B=2");
    becomes("-x 'A=one two'|", "-x A=one two; ");
}

static void test_refused(void **state)
{
    (void)state;
    refused("A=1", "names one setting");
    refused("", "names one setting");
    refused("A=1|A=1", "two settings are the same");
    refused("one|two", "'one' is neither an option nor NAME=VALUE");
    refused("A=1|2|3|4|5|6|7|8|9", "more than 8");
    refused("MLAUNCH_OPT_LOCAL=net|shm", "is for mlaunch");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_settings),
                                       cmocka_unit_test(test_refused)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}

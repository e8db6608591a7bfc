/* SPDX-License-Identifier: MIT */
/* What passes of a command's metrics, and why the rest does not. */
#include "launcher/tools/metrics/metric_lines.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void expect(const char *printed, const char *passed, int refused, int first,
                   const char *reason)
{
    char *copy = strdup(printed);
    struct metric_lines l;
    struct fault why;

    assert_non_null(copy);
    assert_int_equal(metric_lines_check(&l, copy, &why), 0);
    assert_string_equal(l.text, passed);
    assert_int_equal(l.refused, refused);
    assert_int_equal(l.first, first);
    if (refused && !strstr(l.reason.text, reason))
        fail_msg("not about '%s': %s", reason, l.reason.text);
    free(l.text);
    free(copy);
}

static void passes(const char *printed, const char *passed)
{
    expect(printed, passed, 0, 0, "");
}

static void refuses(const char *line, const char *reason)
{
    expect(line, "", 1, 1, reason);
}

static void test_good_lines(void **state)
{
    (void)state;
    passes("", "");
    passes("\n \t\n# a comment\n#\n", "");
    passes("mlaunch_gpu_power_watts 52.5\n", "# HELP mlaunch_gpu_power_watts From --command.\n"
                                             "mlaunch_gpu_power_watts 52.5\n");
    passes("mlaunch_local_x{} 1", "# HELP mlaunch_local_x From --command.\n"
                                  "mlaunch_local_x{} 1\n");
    passes("  mlaunch_local_x{a=\"b\",c=\"d\\\\\\\"\\n\",}   -1.5e-3  \r\n",
           "# HELP mlaunch_local_x From --command.\n"
           "mlaunch_local_x{a=\"b\",c=\"d\\\\\\\"\\n\",} -1.5e-3\n");
    passes("mlaunch_local_x{a=\"} 1\"} NaN\n", "# HELP mlaunch_local_x From --command.\n"
                                               "mlaunch_local_x{a=\"} 1\"} NaN\n");
    passes("mlaunch_local_x +Inf\nmlaunch_local_y -Inf\n",
           "# HELP mlaunch_local_x From --command.\n"
           "mlaunch_local_x +Inf\n"
           "# HELP mlaunch_local_y From --command.\n"
           "mlaunch_local_y -Inf\n");
    passes("mlaunch_local_x{a=\"\u00e9\"} 0\n", "# HELP mlaunch_local_x From --command.\n"
                                                "mlaunch_local_x{a=\"\u00e9\"} 0\n");
}

/* A page has each family once, in one piece. */
static void test_families(void **state)
{
    (void)state;
    passes(
        "mlaunch_gpu_a{g=\"0\"} 1\nmlaunch_gpu_b{g=\"0\"} 2\nmlaunch_gpu_a{g=\"1\"} 3\n"
        "# TYPE mlaunch_gpu_a gauge\n# HELP mlaunch_gpu_a What it is.\n# HELP mlaunch_gpu_c No\n",
        "# HELP mlaunch_gpu_a What it is.\n# TYPE mlaunch_gpu_a gauge\n"
        "mlaunch_gpu_a{g=\"0\"} 1\nmlaunch_gpu_a{g=\"1\"} 3\n"
        "# HELP mlaunch_gpu_b From --command.\n"
        "mlaunch_gpu_b{g=\"0\"} 2\n");
    passes("# TYPE mlaunch_local_h histogram\nmlaunch_local_h_bucket{le=\"+Inf\"} 1\n"
           "mlaunch_gpu_a_sum 1\nmlaunch_local_h_sum 2\nmlaunch_local_h_count 1\n",
           "# HELP mlaunch_local_h From --command.\n"
           "# TYPE mlaunch_local_h histogram\nmlaunch_local_h_bucket{le=\"+Inf\"} 1\n"
           "mlaunch_local_h_sum 2\nmlaunch_local_h_count 1\n"
           "# HELP mlaunch_gpu_a_sum From --command.\n"
           "mlaunch_gpu_a_sum 1\n");
}

static void test_bad_lines(void **state)
{
    (void)state;
    refuses("node_load1 1", "does not begin with mlaunch_gpu_ or mlaunch_local_");
    refuses("mlaunch_rank_up 1", "does not begin with");
    refuses("# TYPE mlaunch_host_up gauge", "does not begin with");
    refuses("# TYPE mlaunch_gpu_a number", "'number' is not a type");
    refuses("# HELP 1", "HELP needs a metric's name");
    refuses("{a=\"b\"} 1", "it begins with no metric's name");
    refuses("mlaunch_gpu_a", "no number follows");
    refuses("mlaunch_gpu_a{b=\"c\"}1", "no number follows");
    refuses("mlaunch_gpu_a 1 1700000000000", "more than a number follows");
    refuses("mlaunch_gpu_a [N/A]", "'[N/A]' is not a number");
    refuses("mlaunch_gpu_a 0x10", "is not a number");
    refuses("mlaunch_gpu_a 1_000", "is not a number");
    refuses("mlaunch_gpu_a infinity", "is not a number");
    refuses("mlaunch_gpu_a ", "no number follows");
    refuses("mlaunch_gpu_a{b} 1", "a label has no value");
    refuses("mlaunch_gpu_a{b=c} 1", "not in quotes");
    refuses("mlaunch_gpu_a{b=\"c} 1", "does not end");
    refuses("mlaunch_gpu_a{b=\"\\t\"} 1", "can follow a \\");
    refuses("mlaunch_gpu_a{b=\"c\\", "");
    refuses("mlaunch_gpu_a{b=\"c\" d=\"e\"} 1", "neither , nor }");
    refuses("mlaunch_gpu_a{=\"c\"} 1", "a label's name is missing");
    refuses("mlaunch_gpu_a{", "a label's name is missing");
    refuses("mlaunch_gpu_a{b=\"\033[2J\"} 1", "control character");
    refuses("mlaunch_gpu_a{b=\"\377\"} 1", "not UTF-8");
    expect("mlaunch_gpu_a 1\nmlaunch_gpu_a 2\nx 1\n",
           "# HELP mlaunch_gpu_a From --command.\n"
           "mlaunch_gpu_a 1\n",
           2, 2, "there already");
    expect("# TYPE mlaunch_gpu_a gauge\n# TYPE mlaunch_gpu_a counter\nmlaunch_gpu_a 1\n",
           "# HELP mlaunch_gpu_a From --command.\n"
           "# TYPE mlaunch_gpu_a gauge\nmlaunch_gpu_a 1\n",
           1, 2, "a second TYPE");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good_lines),
        cmocka_unit_test(test_families),
        cmocka_unit_test(test_bad_lines),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* test_foreign_report.c: the lines about what torch and NCCL say of ranks, and hostile answers. */
#include "launcher/run/stacks/hang_report.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { RANKS = 8 };

/* The lines about ranks 0, 1, … with that evidence, JSON texts of which NULL is the end; behind the
 * one about their stacks. */
static void expect(const char *const *evidence, const char *lines)
{
    struct hang_rank ranks[RANKS] = {{0}};
    json_t *parsed[RANKS], *report;
    char *found, *at;
    size_t count = 0;

    for (; evidence[count]; count++) {
        parsed[count] = json_pack("{s:s, s:o}", "state", "ended", "evidence",
                                  json_loads(evidence[count], JSON_DECODE_ANY, NULL));
        assert_non_null(parsed[count]);
        ranks[count] = (struct hang_rank){(long long)count, count < 2 ? "a" : "b", parsed[count]};
    }
    report = hang_report_make(ranks, count);
    found = hang_report_text(report, " ", 1);
    at = strstr(found, "ended");
    assert_non_null(at);
    assert_string_equal(at + 5, lines);
    free(found);
    json_decref(report);
    while (count > 0)
        json_decref(parsed[--count]);
}
#define EXPECT(lines, ...) expect((const char *const[]){__VA_ARGS__, NULL}, lines)

#define CALL(group, call, number, waits, at)                                                       \
    "{\"group\": \"" group "\", \"name\": \"" group "\", \"members\": [0, 1, 2, 3], \"call\": "    \
    "\"" call "\", \"number\": " #number ", \"waits\": " waits ", \"at\": \"" at "\"}"
#define TORCH(calls)  "[{\"from\": \"torch\", \"calls\": [" calls "]}]"
#define AT_41         TORCH(CALL("default_pg", "all_reduce", 41, "true", "train.py:17 step"))
#define AT_40         TORCH(CALL("default_pg", "all_reduce", 40, "false", ""))
#define SILENT(whose) "[{\"from\": \"" whose "\", \"silent\": true}]"
#define NCCL(lines)   "[{\"from\": \"nccl\", \"lines\": [" lines "]}]"

static void torch(void **state)
{
    (void)state;
    EXPECT("", "[]", "[]");
    EXPECT("\n 0-2 wait in all_reduce #41 of torch's group default_pg at train.py:17 step, 3 has "
           "ended all_reduce #40",
           AT_41, AT_41, AT_41, AT_40);
    EXPECT("\n 1,3 wait in all_reduce #41 of torch's group default_pg at train.py:17 step, 0 has "
           "ended all_reduce #40; nothing is known of 2"
           "\n torch's flight recorder of 2 does not answer",
           AT_40, AT_41, SILENT("torch"), AT_41);
    EXPECT("\n 0,1 have ended all_reduce #40 of torch's group default_pg; nothing is known of 2,3",
           AT_40, AT_40);
    /* Groups in which nobody waits are left out, if there is one in which somebody does. */
    EXPECT("\n 0 waits in all_reduce #41 of torch's group default_pg at train.py:17 step; nothing "
           "is known of 1-3",
           TORCH(CALL("tp", "broadcast", 9, "false", "") "," CALL("default_pg", "all_reduce", 41,
                                                                  "true", "train.py:17 step")));
    /* Who is furthest comes first. */
    EXPECT("\n 1 has ended barrier #7 of torch's group g, 2 waits in barrier #7, 0 waits in "
           "all_reduce #6; nothing is known of 3",
           TORCH(CALL("g", "all_reduce", 6, "true", "")),
           TORCH(CALL("g", "barrier", 7, "false", "")), TORCH(CALL("g", "barrier", 7, "true", "")));
}

static void nccl(void **state)
{
    (void)state;
    EXPECT("\n NCCL's RAS, asked at rank 0 on host a, reports no error", NCCL(""), NCCL(""));
    EXPECT("\n NCCL's RAS, asked at rank 2 on host b, says:\n     DEAD\n       1 job process"
           "\n NCCL's RAS of 0 does not answer",
           SILENT("nccl"), NCCL(""), NCCL("\"DEAD\", \"  1 job process\""), NCCL("\"other\""));
}

static void hostile(void **state)
{
    (void)state;
    EXPECT("", "null", "7", "{}", "[1, [], {\"from\": 3}, {\"calls\": 4}, {\"calls\": [1, []]}]",
           "[{\"from\": \"nccl\", \"lines\": \"x\"}]");
    EXPECT("\n 0 waits in call #0 of torch's group ",
           "[{\"calls\": [{\"waits\": true, \"members\": "
           "[-1, 99999999999, \"x\", 1e9]}]}]");
    EXPECT("\n NCCL's RAS, asked at rank 0 on host a, says:\n     ?[31m",
           NCCL("\"\\u001b[31m\", 7"));
    EXPECT("\n 0 waits in a?b #1 of torch's group ??; nothing is known of 1-3",
           TORCH("{\"group\": \"\\n\\u0007\", \"members\": [0, 1, 2, 3], \"call\": \"a\\nb\", "
                 "\"number\": 1, \"waits\": true}"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(torch),
        cmocka_unit_test(nccl),
        cmocka_unit_test(hostile),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

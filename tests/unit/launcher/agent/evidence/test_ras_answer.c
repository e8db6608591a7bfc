/* SPDX-License-Identifier: MIT */
/* test_ras_answer.c: which lines of NCCL's RAS are kept. The texts follow docs/userguide/source/
 * troubleshooting/ras.rst of NCCL 2.29, and the formats in its src/ras/client_support.cc. */
#include "launcher/agent/evidence/ras_answer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define HEAD                                                                                       \
    "SERVER PROTOCOL 2\nOK\nNCCL version 2.28.9 compiled with CUDA 13.0\n\nJob summary\n"          \
    "===========\n\n  Nodes  Processes\n      1          4\n\nCommunicators..."
#define TABLE                                                                                      \
    "Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors\n"                  \
    "    0         1         1         4         4         4   RUNNING  OK\n\n"

static void is(const char *text, const char *expected)
{
    json_t *lines = ras_answer_lines(text);
    char *found = json_dumps(lines, JSON_COMPACT);

    assert_non_null(found);
    assert_string_equal(found, expected);
    free(found);
    json_decref(lines);
}

static void kept(void **state)
{
    (void)state;
    is(HEAD " (0.00s)\n=============\n\n" TABLE, "[]");
    is(HEAD " (2.05s)\n=============\n\n" TABLE "Errors\n======\n\nDEAD  \r\n"
            "  1 job process is considered dead\n\nWarnings\n========\n\nTIMEOUT\n  Encountered 2",
       "[\"DEAD\",\"  1 job process is considered dead\",\"TIMEOUT\",\"  Encountered 2\"]");
    is("Communicators... (1.00s)\nWarnings\n\xff\n", "[\"?\"]");
}

static void refused(void **state)
{
    (void)state;
    assert_null(ras_answer_lines(""));
    assert_null(ras_answer_lines("HTTP/1.0 400 Bad Request\n\nErrors\n======\nno\n"));
    assert_null(ras_answer_lines(HEAD)); /* it still waits for the other processes */
}

static void bounded(void **state)
{
    size_t size = 100000;
    char *text = malloc(size + 1);
    json_t *lines;

    (void)state;
    assert_non_null(text);
    memset(text, 'x', size);
    text[size] = '\0';
    memcpy(text, "Communicators... (1)\nErrors\n", 28);
    lines = ras_answer_lines(text);
    assert_int_equal(json_array_size(lines), 1);
    assert_int_equal(strlen(json_string_value(json_array_get(lines, 0))), 200);
    json_decref(lines);
    for (size_t i = 29; i < size; i += 2)
        text[i] = '\n';
    lines = ras_answer_lines(text);
    assert_int_equal(json_array_size(lines), 40);
    json_decref(lines);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kept),
        cmocka_unit_test(refused),
        cmocka_unit_test(bounded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

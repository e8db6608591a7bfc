/* SPDX-License-Identifier: MIT */
/* test_signal_text.c: the names and words of signals are the C library's. */
#include "common/text/signal_text.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void test_words(void **state)
{
    char text[SIGNAL_TEXT], expected[SIGNAL_TEXT];

    (void)state;
    for (int i = 1; i < 32; i++) {
        snprintf(expected, sizeof(expected), "was killed by signal %d (%s)", i, strsignal(i));
        assert_string_equal(signal_text_killed(text, i), expected);
        assert_non_null(signal_text_name(i));
    }
    assert_string_equal(signal_text_killed(text, SIGRTMIN),
                        "was killed by signal 34 (real-time signal)");
}

static void test_names(void **state)
{
    const int none[] = {-1, 0, 32, SIGRTMIN, 1000};

    (void)state;
    assert_string_equal(signal_text_name(SIGHUP), "HUP");
    assert_string_equal(signal_text_name(SIGKILL), "KILL");
    assert_string_equal(signal_text_name(SIGSYS), "SYS");
    for (size_t i = 0; i < sizeof(none) / sizeof(*none); i++)
        assert_null(signal_text_name(none[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_words), cmocka_unit_test(test_names)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}

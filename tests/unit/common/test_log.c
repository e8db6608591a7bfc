/* SPDX-License-Identifier: MIT */
#include "common/log.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* What one log call writes to stderr. */
#define LINE_OF(out, call)                                                                         \
    do {                                                                                           \
        int ends[2], saved = dup(2);                                                               \
        ssize_t n;                                                                                 \
        assert_int_equal(pipe(ends), 0);                                                           \
        dup2(ends[1], 2);                                                                          \
        call;                                                                                      \
        dup2(saved, 2);                                                                            \
        close(saved);                                                                              \
        close(ends[1]);                                                                            \
        n = read(ends[0], out, sizeof(out) - 1);                                                   \
        close(ends[0]);                                                                            \
        out[n > 0 ? n : 0] = '\0';                                                                 \
    } while (0)

static void test_lines(void **state)
{
    char line[8192], text[6000];

    (void)state;
    log_open("mlaunch", LOG_WARN);
    LINE_OF(line, log_error("host %s is gone", "b"));
    assert_string_equal(line, "mlaunch: error: host b is gone\n");
    LINE_OF(line, log_warn("slow"));
    assert_string_equal(line, "mlaunch: warning: slow\n");
    LINE_OF(line, log_info("not shown"));
    assert_string_equal(line, "");
    log_open("mlaunch", LOG_INFO);
    LINE_OF(line, log_info("shown"));
    assert_string_equal(line, "mlaunch: shown\n");
    /* Control characters are replaced, and a line that is too long is cut but still ends. */
    LINE_OF(line, log_error("%s", "a\033[2J\rb\tc"));
    assert_string_equal(line, "mlaunch: error: a?[2J?b\tc\n");
    /* What a message quotes begins no line, and what is indented stays as it is. */
    LINE_OF(line, log_error("%s", "a\nmlaunch: error: b\n    c\n"));
    assert_string_equal(line, "mlaunch: error: a\n mlaunch: error: b\n    c\n\n");
    memset(text, '\n', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    LINE_OF(line, log_error("%s", text));
    assert_true(strlen(line) > 4000 && line[strlen(line) - 1] == '\n');
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    LINE_OF(line, log_error("%s", text));
    assert_true(strlen(line) > 4000 && line[strlen(line) - 1] == '\n');
}

enum { TAKEN = 64 };

static void line_take(enum log_level level, const char *text, void *arg)
{
    assert_int_equal(level, LOG_WARN);
    snprintf(arg, TAKEN, "%s", text);
}

static void test_sink(void **state)
{
    char taken[TAKEN] = "";

    (void)state;
    log_open("agent", LOG_WARN);
    log_to(line_take, taken);
    log_warn("number %d", 5);
    assert_string_equal(taken, "number 5");
    log_info("not taken");
    assert_string_equal(taken, "number 5");
    log_to(NULL, NULL);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_sink),
    };

    return cmocka_run_group_tests_name("log", tests, NULL, NULL);
}

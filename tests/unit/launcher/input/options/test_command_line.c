/* SPDX-License-Identifier: MIT */
/* test_command_line.c: the reader of all commands: own options and those of run, and refusals. */
#include "launcher/input/options/command_line.h"
#include "launcher/input/options/option_value.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { WORDS = 16 };

struct stored {
    int lines;
    bool follows;
};

static const struct option own[] = {
    {.name = "lines",
     .letter = 'n',
     .argument = "N",
     .help = "lines",
     .set = option_value_number,
     .max = 9,
     .field = offsetof(struct stored, lines)},
    {.name = "follow",
     .letter = 'f',
     .help = "follow",
     .set = option_value_flag,
     .field = offsetof(struct stored, follows)},
    {.name = "batch", .letter = 'b', .argument = "N", .otherwise = "1", .help = "views"},
    {.name = "watch", .argument = "N", .scope = OPTION_COMMAND, .help = "watch"},
    {.letter = 'o', .argument = "FILE", .help = "file"},
    {0}};
static const char *const some[] = {"hosts", "verbose", NULL};
static const char *const without[] = {"output", NULL};
static const struct command_hint hints[] = {
    {"-a", "it lists all"}, {"--all", "same"}, {NULL, NULL}};

static const struct command_syntax mixed = {.name = "c",
                                            .own = own,
                                            .borrowed = {some},
                                            .hints = hints,
                                            .words = COMMAND_MIXED,
                                            .words_most = 1};
static const struct command_syntax rest = {
    .name = "c", .own = own, .borrows_all = true, .without = without, .words = COMMAND_REST};

static struct stored to;

/* Words are separated by '|'. */
static int line_read(struct command_line *out, const struct command_syntax *s, const char *text,
                     struct fault *why)
{
    static char copy[256];
    char *words[WORDS + 1] = {(char *)"c"}, *left = copy;
    int count = 1;

    snprintf(copy, sizeof(copy), "%s", text);
    while (*text && count < WORDS && (words[count] = strsep(&left, "|")))
        count++;
    to = (struct stored){0};
    return command_line_read(out, s, &to, count, words, why);
}

/* "own words / run's words / words", each followed by a blank. */
static void read_as(const struct command_syntax *s, const char *text, const char *expected)
{
    struct command_line c = {0};
    struct fault why = {0};
    char seen[256] = "";

    if (line_read(&c, s, text, &why))
        fail_msg("%s: %s", text, why.text);
    for (int i = 0; i < 3; i++) {
        const struct string_list *l = i == 0 ? &c.own : i == 1 ? &c.borrowed : &c.words;

        if (i)
            strcat(seen, "/ ");
        for (size_t k = 0; k < l->count; k++)
            strcat(strcat(seen, l->items[k]), " ");
    }
    if (strcmp(seen, expected) != 0)
        fail_msg("%s: %s", text, seen);
    command_line_clear(&c);
}

static void refused(const struct command_syntax *s, const char *text, const char *sentence)
{
    struct command_line c = {.rest = 7};
    struct fault why = {0};

    assert_int_equal(line_read(&c, s, text, &why), ML_ERR_ARGUMENT);
    assert_int_equal(c.rest, 7);
    if (strcmp(why.text, sentence) != 0)
        fail_msg("%s: %s", text, why.text);
}

static void test_forms(void **state)
{
    (void)state;
    read_as(&mixed, "--lines|3|job", "--lines 3 / / job ");
    assert_int_equal(to.lines, 3);
    read_as(&mixed, "job|-n4|-f", "-n4 -f / / job ");
    assert_true(to.lines == 4 && to.follows);
    read_as(&mixed, "-fvn=5", "-f -n=5 / -v / ");
    assert_int_equal(to.lines, 5);
    read_as(&mixed, "-H|a|--hosts=b|-oF|-o|G", "-oF -o G / -H a --hosts=b / ");
    read_as(&mixed, "--watch|2|-b", "-b / / "); /* OPTION_COMMAND is for this command alone */
    read_as(&mixed, "--|-x", "/ / -x ");
    read_as(&mixed, "-|-b", "-b / / - ");
    read_as(&mixed, "-vv|-hosts|a", "/ -v -v -hosts a / ");
    read_as(&rest, "-env|A|1|-n|3|p|-n", "-n 3 / -env A 1 / ");
    assert_int_equal(to.lines, 3);
}

static void test_values(void **state)
{
    static const struct {
        const char *text, *value;
    } cases[] = {{"-b", "1"}, {"-b|7", "7"}, {"-b|job", "1"}, {"--batch=x", "x"}, {"-b7|-b8", "8"}};
    struct command_line c = {0};
    struct string_list all = {0};
    struct fault why = {0};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        assert_int_equal(line_read(&c, &mixed, cases[i].text, &why), 0);
        assert_string_equal(command_line_value(&c, "batch"), cases[i].value);
        assert_null(command_line_value(&c, "watch"));
        assert_int_equal(command_line_values(&all, &c, "batch", &why), 0);
        command_line_clear(&c);
    }
    assert_int_equal(all.count, 6);
    string_list_clear(&all);
}

static void test_rest(void **state)
{
    static const struct {
        const char *text;
        int rest;
    } cases[] = {{"p|-n|3", 1}, {"-f|--|-n", 2}, {"-n|3|-", 3}, {"-f", 2}, {"", 1}};
    struct command_line c = {0};
    struct fault why = {0};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        assert_int_equal(line_read(&c, &rest, cases[i].text, &why), 0);
        assert_int_equal(c.rest, cases[i].rest);
        command_line_clear(&c);
    }
    assert_int_equal(line_read(&c, &rest, "-f|-h|--nonsense", &why), 0);
    assert_int_equal(c.action, OPTIONS_HELP);
    command_line_clear(&c);
}

static void test_refused(void **state)
{
    (void)state;
    refused(&mixed, "--line", "mlaunch c: unknown option --line; did you mean --lines?");
    refused(&mixed, "--host=a", "mlaunch c: unknown option --host; here it is called --hosts");
    refused(&mixed, "-w|a", "mlaunch c: unknown option -w; here it is called --hosts");
    refused(
        &mixed, "--np|2",
        "mlaunch c: --np is an option of a job, and has no meaning here; mlaunch c --help lists "
        "all");
    refused(&mixed, "-q",
            "mlaunch c: -q is an option of a job, and has no meaning here; mlaunch c --help lists "
            "all");
    refused(&mixed, "-Z", "mlaunch c: unknown option -Z; mlaunch c --help lists all");
    refused(&mixed, "-fZ", "mlaunch c: unknown option -Z in '-fZ'; mlaunch c --help lists all");
    refused(&mixed, "--n", "mlaunch c: unknown option --n; mlaunch c --help lists all");
    refused(&mixed, "-a", "mlaunch c has no -a: it lists all");
    refused(&mixed, "--all=1", "mlaunch c has no --all: same");
    refused(&mixed, "a|b", "mlaunch c takes one word, so not 'b' as well");
    refused(&mixed, "a|", "mlaunch c: unexpected argument ''");
    refused(&mixed, "-n", "-n needs a value: -n N");
    refused(&mixed, "-n|10", "-n: '10' is not a whole number from 0 to 9");
    refused(&mixed, "--lines=", "--lines needs a value: --lines N");
    refused(&mixed, "--follow=yes", "--follow takes no value, so not 'yes'");
    refused(&rest, "--npp", "mlaunch c: unknown option --npp; did you mean --np?");
    refused(&rest, "--zzz",
            "mlaunch c: unknown option --zzz; mlaunch c --help and mlaunch --help list all");
    refused(&rest, "--output|x",
            "mlaunch c: --output is an option of a job, and has no meaning here; mlaunch c --help "
            "lists all");
    refused(&rest, "--label",
            "mlaunch c: unknown option --label; mlaunch c --help and mlaunch --help list all");
    refused(&rest, "--mca|a|b",
            "--mca is Open MPI's: mlaunch has no such settings; --backend, --local and "
            "--rdma-device choose the data path");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forms),
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_rest),
        cmocka_unit_test(test_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

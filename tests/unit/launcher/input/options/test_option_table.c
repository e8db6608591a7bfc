/* SPDX-License-Identifier: MIT */
/* test_option_table.c: which option a name or key means, and what is said of an unknown one. */
#include "launcher/input/options/option_table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void test_unknown(void **state)
{
    struct fault why = {0};

    (void)state;
    assert_int_equal(option_table_unknown("timeot", &why), ML_ERR_ARGUMENT);
    assert_string_equal(why.text, "unknown option timeot; did you mean timeout?");
    assert_int_equal(option_table_unknown("qqqqqqqqqq", &why), ML_ERR_ARGUMENT);
    assert_string_equal(why.text, "unknown option qqqqqqqqqq; mlaunch --help lists all");
    assert_int_equal(option_table_unknown_ssh("user", &why), ML_ERR_ARGUMENT);
    assert_non_null(strstr(why.text, "unknown key user in [ssh]"));
    assert_int_equal(option_table_unknown_rdma("lid", &why), ML_ERR_ARGUMENT);
    assert_non_null(strstr(why.text, "unknown key lid in [rdma]"));
}

/* A name from a file may hold anything. */
static void test_escapes(void **state)
{
    static int (*const refuse[])(const char *, struct fault *) = {
        option_table_unknown, option_table_unknown_ssh, option_table_unknown_rdma};

    (void)state;
    for (size_t i = 0; i < sizeof(refuse) / sizeof(*refuse); i++) {
        struct fault why = {0};

        assert_int_equal(refuse[i]("\033]0;qqqqqqqqqq\a", &why), ML_ERR_ARGUMENT);
        assert_non_null(strstr(why.text, "unknown"));
        assert_null(strpbrk(why.text, "\033\a"));
    }
}

static void test_keys(void **state)
{
    (void)state;
    assert_null(option_table_find_ssh("ssh-config"));
    assert_null(option_table_find_ssh(""));
    assert_string_equal(option_table_find_ssh("config")->name, "config");
    assert_ptr_not_equal(option_table_find_ssh("config"), option_table_find("config"));
    assert_ptr_equal(option_table_find_rdma("port"), option_table_find("rdma-port"));
    assert_ptr_equal(option_table_find_rdma("rdma-port"), option_table_find("rdma-port"));
    assert_null(option_table_find_rdma("np"));
}

/* Every row is complete. A second one with the same name, alias or letter would never be found. */
static void test_rows(void **state)
{
    (void)state;
    assert_null(option_table_find(""));
    assert_null(option_table_find("timeou"));
    assert_null(option_table_find("mca"));
    assert_null(option_table_search_letter(option_table, '\0'));
    assert_null(option_table_search_letter(option_table, 'Z'));
    assert_string_equal(option_table_find("repeat-hosts")->name, "ppn");
    for (const struct option *s = option_table; s->help; s++) {
        if (!s->name)
            continue;
        if (strcmp(s->name, "help") != 0 && strcmp(s->name, "version") != 0) /* command_line.c */
            assert_non_null(s->set);
        assert_ptr_equal(option_table_find(s->name), s);
        if (s->alias)
            assert_ptr_equal(option_table_find(s->alias), s);
        if (s->letter)
            assert_ptr_equal(option_table_search_letter(option_table, s->letter), s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_unknown),
                                       cmocka_unit_test(test_escapes), cmocka_unit_test(test_keys),
                                       cmocka_unit_test(test_rows)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}

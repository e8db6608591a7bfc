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
    const struct option *none = NULL;
    struct fault why = {0};

    (void)state;
    assert_int_equal(option_table_unknown("timeot", &why), ML_ERR_ARGUMENT);
    assert_string_equal(why.text, "unknown option timeot; did you mean timeout?");
    assert_int_equal(option_table_unknown("qqqqqqqqqq", &why), ML_ERR_ARGUMENT);
    assert_string_equal(why.text, "unknown option qqqqqqqqqq; mlaunch --help lists all");
    assert_int_equal(option_table_find_in(&none, "ssh", "user", &why), ML_ERR_ARGUMENT);
    assert_non_null(strstr(why.text, "unknown key user in [ssh]"));
    assert_int_equal(option_table_find_in(&none, "rdma", "lid", &why), ML_ERR_ARGUMENT);
    assert_non_null(strstr(why.text, "unknown key lid in [rdma]"));
}

/* A name from a file may hold anything. */
static void test_escapes(void **state)
{
    static const char *const sections[] = {NULL, "ssh", "rdma"};
    static const char name[] = "\033]0;qqqqqqqqqq\a";
    const struct option *none = NULL;

    (void)state;
    for (size_t i = 0; i < sizeof(sections) / sizeof(*sections); i++) {
        struct fault why = {0};

        assert_int_equal(sections[i] ? option_table_find_in(&none, sections[i], name, &why)
                                     : option_table_unknown(name, &why),
                         ML_ERR_ARGUMENT);
        assert_null(none);
        assert_non_null(strstr(why.text, "unknown"));
        assert_null(strpbrk(why.text, "\033\a"));
    }
}

/* The option of a key of a section; NULL: the section has none. */
static const struct option *in(const char *section, const char *key)
{
    const struct option *found = NULL;
    struct fault why;

    return option_table_find_in(&found, section, key, &why) ? NULL : found;
}

static void test_keys(void **state)
{
    (void)state;
    assert_null(in("ssh", "ssh-config"));
    assert_null(in("ssh", ""));
    assert_ptr_equal(in("ssh", "config"), option_table_find("ssh-config"));
    assert_string_equal(in("ssh", "connect-timeout")->name, "connect-timeout");
    assert_ptr_equal(in("rdma", "port"), option_table_find("rdma-port"));
    assert_ptr_equal(in("rdma", "rdma-port"), option_table_find("rdma-port"));
    assert_null(in("rdma", "np"));
    assert_null(in("rdma", "config"));
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

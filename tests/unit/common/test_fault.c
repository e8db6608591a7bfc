/* SPDX-License-Identifier: MIT */
#include "common/fault.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void test_sentences(void **state)
{
    struct fault why = {0};

    (void)state;
    assert_int_equal(fault_set(&why, ML_ERR_LINK, "port %d is down", 3), ML_ERR_LINK);
    assert_string_equal(why.text, "port 3 is down");
    assert_int_equal(fault_wrap(&why, "rank %d", 4), ML_ERR_LINK);
    assert_string_equal(why.text, "rank 4: port 3 is down");
    assert_int_equal(fault_os(&why, ML_ERR_SYSTEM, ENOENT, "cannot open %s", "x"), ML_ERR_SYSTEM);
    assert_string_equal(why.text, "cannot open x: No such file or directory");
    assert_int_equal(why.code, ML_ERR_SYSTEM);
    /* The struct's own text as an argument. */
    fault_set(&why, ML_ERR_PEER, "again: %s", why.text);
    assert_string_equal(why.text, "again: cannot open x: No such file or directory");
}

static void test_cut(void **state)
{
    struct fault why = {0};
    char text[1000];

    (void)state;
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    fault_set(&why, ML_ERR_LINK, "%s", text);
    assert_int_equal(strlen(why.text), sizeof(why.text) - 1);
    fault_wrap(&why, "here");
    assert_int_equal(strlen(why.text), sizeof(why.text) - 1);
    assert_memory_equal(why.text, "here: xxx", 9);
    fault_os(&why, ML_ERR_SYSTEM, ENOENT, "%s", text);
    assert_int_equal(strlen(why.text), sizeof(why.text) - 1);
    assert_string_equal(why.text + strcspn(why.text, ":"), ": No such file or directory");
    fault_wrap(&why, "%s", text); /* each has half of the room */
    assert_int_equal(strlen(why.text), sizeof(why.text) - 1);
    assert_int_equal(strcspn(why.text, ":"), sizeof(why.text) / 2 - 3);
}

static void test_nobody_asks(void **state)
{
    (void)state;
    assert_int_equal(fault_set(NULL, ML_ERR_LINK, "x"), ML_ERR_LINK);
    assert_int_equal(fault_os(NULL, ML_ERR_LINK, ENOENT, "x"), ML_ERR_LINK);
    assert_int_equal(fault_wrap(NULL, "x"), 0);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sentences),
        cmocka_unit_test(test_cut),
        cmocka_unit_test(test_nobody_asks),
    };

    return cmocka_run_group_tests_name("fault", tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* test_install_path.c: the name of a copy that is not whole is known by whoever removes it. */
#include "launcher/base/process/install_path.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

static void knows_the_names_that_copies_get(void **state)
{
    static const uint32_t numbers[][2] = {{0, 0}, {UINT32_MAX, UINT32_MAX}, {1, 0xabcdef}};
    char name[64];

    (void)state;
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        snprintf(name, sizeof(name), INSTALL_PARTIAL, numbers[i][0], numbers[i][1]);
        assert_true(install_path_is_partial(name));
    }
}

static void knows_no_other_names(void **state)
{
    static const char *const names[] = {"",
                                        ".",
                                        "..",
                                        "mlaunch-agent",
                                        "0123456789abcdef",
                                        ".0123456789abcde",
                                        ".0123456789abcdef0",
                                        ".0123456789ABCDEF",
                                        ".mlaunch-agent.0123456789abcdef"};

    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        assert_false(install_path_is_partial(names[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(knows_the_names_that_copies_get),
        cmocka_unit_test(knows_no_other_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

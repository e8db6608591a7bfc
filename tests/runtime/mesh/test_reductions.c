/* SPDX-License-Identifier: MIT */
/* Reductions on a mesh of threads, by the algorithms that the table chooses.
 * TEST_TIER=full */
#include "tests/runtime/mesh/mesh_cases.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const struct mesh_sizes *sizes;

static void test_reductions(void **state)
{
    (void)state;
    mesh_check("", sizes->many, mesh_reductions);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reductions),
    };

    sizes = mesh_sizes_chosen();
    return cmocka_run_group_tests(tests, NULL, NULL);
}

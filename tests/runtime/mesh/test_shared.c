/* SPDX-License-Identifier: MIT */
/* The algorithms that need shared memory, on a mesh of threads.
 * TEST_TIER=full */
#include "tests/runtime/mesh/mesh_cases.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const struct mesh_sizes *sizes;

static void test_shared(void **state)
{
    (void)state;
    mesh_check("all_reduce:shared", sizes->few, mesh_reductions);
    mesh_check("all_reduce:shared", sizes->large, mesh_large);
}

static void test_shared_flat(void **state)
{
    (void)state;
    mesh_check("all_reduce:shared-flat", sizes->few, mesh_reductions);
    mesh_check("all_reduce:shared-flat", sizes->large, mesh_large);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shared),
        cmocka_unit_test(test_shared_flat),
    };

    sizes = mesh_sizes_chosen();
    return cmocka_run_group_tests(tests, NULL, NULL);
}

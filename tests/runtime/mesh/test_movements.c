/* SPDX-License-Identifier: MIT */
/* Calls that move bytes, long vectors and random calls, on a mesh of threads.
 * TEST_TIER=full */
#include "tests/runtime/mesh/mesh_cases.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const struct mesh_sizes *sizes;

static void test_movements(void **state)
{
    (void)state;
    mesh_check("", sizes->many, mesh_movements);
    mesh_check("broadcast:binomial,all_gather:direct", sizes->few, mesh_movements);
    mesh_check("broadcast:scatter,all_gather:ring", sizes->few, mesh_movements);
    mesh_check("all_gather:bruck", sizes->few, mesh_movements);
}

static void test_large(void **state)
{
    (void)state;
    mesh_check("", sizes->large, mesh_large);
}

static void test_random(void **state)
{
    (void)state;
    mesh_check("", sizes->few, mesh_random);
    mesh_check("", sizes->largest, mesh_random);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_movements),
        cmocka_unit_test(test_large),
        cmocka_unit_test(test_random),
    };

    sizes = mesh_sizes_chosen();
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* The algorithms for hosts with equally many ranks, on a mesh of threads.
 * TEST_TIER=full */
#include "tests/runtime/mesh/mesh_cases.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const struct mesh_sizes *sizes;

static void test_hierarchical(void **state)
{
    (void)state;
    mesh_check("all_reduce:hierarchical", sizes->hosts, mesh_reductions);
    mesh_check("all_gather:hierarchical", sizes->hosts, mesh_movements);
    mesh_check("all_reduce:hierarchical,all_gather:hierarchical", sizes->hosts, mesh_large);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hierarchical),
    };

    sizes = mesh_sizes_chosen();
    return cmocka_run_group_tests(tests, NULL, NULL);
}

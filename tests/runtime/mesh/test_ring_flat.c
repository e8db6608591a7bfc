/* SPDX-License-Identifier: MIT */
/* Reductions on a mesh of threads, between neighbours and of whole blocks.
 * TEST_TIER=full */
#include "tests/runtime/mesh/mesh_cases.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const struct mesh_sizes *sizes;

static void test_ring(void **state)
{
    (void)state;
    mesh_check("all_reduce:ring", sizes->few, mesh_reductions);
    mesh_check("all_reduce:ring,all_gather:ring", sizes->large, mesh_large);
    mesh_check("reduce:ring,reduce_scatter:ring", sizes->few, mesh_reductions);
    mesh_check("reduce:ring,reduce_scatter:ring,broadcast:ring", sizes->large, mesh_large);
    mesh_check("reduce_scatter:doubling", sizes->few, mesh_reductions);
    mesh_check("broadcast:ring", sizes->few, mesh_movements);
}

static void test_flat(void **state)
{
    (void)state;
    mesh_check("all_reduce:flat", sizes->few, mesh_reductions);
    mesh_check("all_reduce:flat,reduce_scatter:flat", sizes->large, mesh_large);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ring),
        cmocka_unit_test(test_flat),
    };

    sizes = mesh_sizes_chosen();
    return cmocka_run_group_tests(tests, NULL, NULL);
}

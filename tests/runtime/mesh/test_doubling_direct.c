/* SPDX-License-Identifier: MIT */
/* Reductions on a mesh of threads, in few rounds and between all pairs of ranks.
 * TEST_TIER=full */
#include "tests/runtime/mesh/mesh_cases.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const struct mesh_sizes *sizes;

static void test_doubling(void **state)
{
    (void)state;
    mesh_check("all_reduce:doubling,reduce:binomial,reduce_scatter:flat", sizes->few,
               mesh_reductions);
}

static void test_direct(void **state)
{
    (void)state;
    mesh_check("all_reduce:direct,reduce:direct,reduce_scatter:direct", sizes->few,
               mesh_reductions);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_doubling),
        cmocka_unit_test(test_direct),
    };

    sizes = mesh_sizes_chosen();
    return cmocka_run_group_tests(tests, NULL, NULL);
}

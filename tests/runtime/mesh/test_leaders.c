/* SPDX-License-Identifier: MIT */
/* The algorithms for hosts with any number of ranks, on a mesh of threads.
 * TEST_TIER=full */
#include "tests/runtime/mesh/mesh_cases.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const struct mesh_sizes *sizes;

static void test_leaders(void **state)
{
    (void)state;
    mesh_check("all_reduce:leaders,reduce:leaders", sizes->uneven, mesh_reductions);
    mesh_check("all_gather:leaders,broadcast:leaders,barrier:leaders", sizes->uneven,
               mesh_movements);
    mesh_check("all_reduce:leaders,reduce:leaders,all_gather:leaders,broadcast:leaders",
               sizes->uneven, mesh_large);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_leaders),
    };

    sizes = mesh_sizes_chosen();
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* Whether a child gets copies of pinned pages is libibverbs' word, a stand-in here. */
#include "rdma/verbs/fork_support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

__attribute__((visibility("default"))) int ibv_is_fork_initialized(void);

static int word;

int ibv_is_fork_initialized(void)
{
    return word;
}

static void only_the_kernels_own_copies_are_support(void **state)
{
    (void)state;
    word = 0; /* IBV_FORK_DISABLED */
    assert_false(fork_support_is_given());
    word = 1; /* IBV_FORK_ENABLED */
    assert_false(fork_support_is_given());
    word = 2; /* IBV_FORK_UNNEEDED */
    assert_true(fork_support_is_given());
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_the_kernels_own_copies_are_support),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
#include "rdma/verbs/explain.h"

#include <errno.h>
#include <infiniband/verbs.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const struct gid mine = {.raw = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 1},
                                .index = 3};
static const struct explain_place place = {
    .device = "mlx5_0", .port = 2, .gid = &mine, .peer = "rank 3 on host b"};

/* Step, device, port, GID and index, peer, the system's error, cause and remedy. */
static void test_steps(void **state)
{
    static const struct {
        enum explain_step step;
        int err, code;
        const char *cause;
    } cases[] = {
        {EXPLAIN_OPEN, EACCES, ML_ERR_DEVICE, "not open to this user"},
        {EXPLAIN_OPEN, ENOENT, ML_ERR_DEVICE, "/dev/infiniband is not here"},
        {EXPLAIN_MEMORY, ENOMEM, ML_ERR_MEMORY, "ulimit -l unlimited"},
        {EXPLAIN_PAIR, ENOMEM, ML_ERR_MEMORY, "run out of resources"},
        {EXPLAIN_PAIR, EBUSY, ML_ERR_DEVICE, "an earlier process"},
        {EXPLAIN_TO_RTR, EINVAL, ML_ERR_LINK, "--gid-index"},
        {EXPLAIN_TO_RTR, ETIMEDOUT, ML_ERR_LINK, "does not answer"},
        {EXPLAIN_TO_RTR, ENETUNREACH, ML_ERR_LINK, "on different networks"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct fault why;

        assert_int_equal(explain(&why, cases[i].step, cases[i].err, &place), cases[i].code);
        assert_non_null(strstr(why.text, "on mlx5_0 port 2 (GID 3, ::ffff:10.0.0.1) towards rank 3 "
                                         "on host b: "));
        assert_non_null(strstr(why.text, strerror(cases[i].err)));
        assert_non_null(strstr(why.text, cases[i].cause));
    }
}

static void test_completions(void **state)
{
    struct fault why;

    (void)state;
    assert_int_equal(explain_completion(&why, IBV_WC_RETRY_EXC_ERR, "retry exceeded", &place),
                     ML_ERR_LINK);
    assert_non_null(strstr(why.text,
                           "towards rank 3 on host b failed: retry exceeded; the other end "
                           "has not answered"));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steps),
        cmocka_unit_test(test_completions),
    };

    return cmocka_run_group_tests_name("explain", tests, NULL, NULL);
}

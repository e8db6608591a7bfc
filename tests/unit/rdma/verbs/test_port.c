/* SPDX-License-Identifier: MIT */
/*
 * test_port.c: the choice among the ports of a device, and the errors if none can be used. The
 * verbs are mocks, because Soft-RoCE devices have one port.
 */
#include "rdma/verbs/port.h"

#include "tests/unit/rdma/mock_verbs.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct mock_device devices[2]; /* the second one: no more */

static int setup(void **state)
{
    static const struct mock_device fresh = {
        "mlx5_0",
        {{IBV_PORT_ACTIVE, IBV_LINK_LAYER_ETHERNET, IBV_MTU_4096, "::1"},
         {IBV_PORT_ACTIVE, IBV_LINK_LAYER_ETHERNET, IBV_MTU_4096, "::2"}},
        false};

    (void)state;
    devices[0] = fresh;
    mock_verbs_begin(devices);
    return 0;
}

static void port_goes_down(int number)
{
    devices[0].ports[number - 1].state = IBV_PORT_DOWN;
}

static void expect_port_named(const char *name, int asked, int got)
{
    struct fault why;
    struct port *p;

    assert_int_equal(port_open(&p, name, asked, &why), 0);
    assert_string_equal(p->device, "mlx5_0");
    assert_int_equal(p->number, got);
    assert_int_equal(p->attr.lid, 10 + got);
    assert_int_equal(p->gid_count, 1); /* only its own */
    assert_int_equal(p->gids[0].raw[15], got);
    port_close(p);
}

static void expect_port(int asked, int got)
{
    expect_port_named("mlx5_0", asked, got);
}

static void expect_refusal_named(const char *name, int asked, int code, const char *text)
{
    struct fault why;
    struct port *p = NULL;

    assert_int_equal(port_open(&p, name, asked, &why), code);
    assert_non_null(strstr(why.text, text));
    assert_null(p);
}

static void expect_refusal(int asked, int code, const char *text)
{
    expect_refusal_named("mlx5_0", asked, code, text);
}

static void test_choice(void **state)
{
    (void)state;
    expect_port(0, 1);
    expect_port(2, 2); /* --rdma-port */
    port_goes_down(1);
    expect_port(0, 2);
}

static void test_refusals(void **state)
{
    (void)state;
    port_goes_down(1);
    expect_refusal(1, ML_ERR_LINK, "mlx5_0 port 1 is down: check its cable");
    expect_refusal(3, ML_ERR_DEVICE, "mlx5_0 has no port 3, only 1 to 2");
    port_goes_down(2);
    expect_refusal(0, ML_ERR_LINK, "mlx5_0 port 1 is down");
    mock_verbs_refuse(0, 0, EIO);
    expect_refusal(0, ML_ERR_DEVICE, "on mlx5_0 port 1: Input/output error");
}

/* A wiring's entry may name the port, which overrides --rdma-port. */
static void test_names(void **state)
{
    (void)state;
    expect_port_named("mlx5_0:1", 0, 1);
    expect_port_named("mlx5_0:2", 0, 2);
    expect_port_named("mlx5_0:1", 2, 1);
    port_goes_down(2);
    expect_refusal_named("mlx5_0:2", 0, ML_ERR_LINK, "mlx5_0 port 2 is down: check its cable");
    expect_refusal_named("mlx5_0:3", 0, ML_ERR_DEVICE, "mlx5_0 has no port 3, only 1 to 2");
    expect_refusal_named("mlx5_0:x", 0, ML_ERR_ARGUMENT,
                         "'mlx5_0:x' is not an RDMA device's name, or one with its port");
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_choice, setup, mock_verbs_end),
        cmocka_unit_test_setup_teardown(test_refusals, setup, mock_verbs_end),
        cmocka_unit_test_setup_teardown(test_names, setup, mock_verbs_end),
    };

    return cmocka_run_group_tests_name("port", tests, NULL, NULL);
}

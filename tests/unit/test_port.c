/* SPDX-License-Identifier: MIT */
/*
 * test_port.c: which port of a device with several is taken, and what is said where none can be. The verbs are mocks:
 * Soft-RoCE devices have one port.
 */
#include "rdma/port.h"

#include "rdma/device.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { PORTS = 2 };

static struct ibv_context context;
static enum ibv_port_state states[PORTS + 1]; /* from 1 */
static int query_error, opened;
static char opened_name[PORT_NAME_DEVICE];

int device_open(struct ibv_context **out, const char *name, struct fault *why)
{
    (void)why;
    snprintf(opened_name, sizeof(opened_name), "%s", name);
    opened++;
    *out = &context;
    return 0;
}

void device_close(struct ibv_context *c)
{
    opened -= c == &context;
}

int ibv_query_device(struct ibv_context *c, struct ibv_device_attr *out)
{
    (void)c;
    memset(out, 0, sizeof(*out));
    out->phys_port_cnt = PORTS;
    return 0;
}

#undef ibv_query_port
int ibv_query_port(struct ibv_context *c, uint8_t number, struct _compat_ibv_port_attr *out)
{
    struct ibv_port_attr *attr = (struct ibv_port_attr *)out;

    (void)c;
    assert_in_range(number, 1, PORTS);
    attr->state = states[number];
    attr->lid = (uint16_t)(10 + number);
    return query_error;
}

const char *ibv_port_state_str(enum ibv_port_state state)
{
    return state == IBV_PORT_DOWN ? "down" : "active";
}

/* GIDs of both ports, in one table. */
ssize_t _ibv_query_gid_table(struct ibv_context *c, struct ibv_gid_entry *entries, size_t most,
                             uint32_t flags, size_t size)
{
    (void)c;
    (void)flags;
    assert_true(most >= PORTS && size == sizeof(*entries));
    for (uint32_t i = 0; i < PORTS; i++) {
        memset(&entries[i], 0, sizeof(*entries));
        entries[i].port_num = i + 1;
        entries[i].gid_index = i;
        entries[i].gid_type = IBV_GID_TYPE_ROCE_V2;
        entries[i].gid.raw[15] = (uint8_t)(i + 1);
    }
    return PORTS;
}

static int setup(void **state)
{
    (void)state;
    states[1] = states[2] = IBV_PORT_ACTIVE;
    query_error = opened = 0;
    return 0;
}

static void expect_port_named(const char *name, int asked, int got)
{
    struct fault why;
    struct port *p;

    assert_int_equal(port_open(&p, name, asked, &why), 0);
    assert_string_equal(p->device, "mlx5_0");
    assert_string_equal(opened_name, "mlx5_0");
    assert_int_equal(p->number, got);
    assert_int_equal(p->attr.lid, 10 + got);
    assert_int_equal(p->gid_count, 1); /* its own only */
    assert_int_equal(p->gids[0].raw[15], got);
    port_close(p);
    assert_int_equal(opened, 0);
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
    assert_int_equal(opened, 0);
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
    states[1] = IBV_PORT_DOWN;
    expect_port(0, 2);
}

static void test_refusals(void **state)
{
    (void)state;
    states[1] = IBV_PORT_DOWN;
    expect_refusal(1, ML_ERR_LINK, "mlx5_0 port 1 is down: check its cable");
    expect_refusal(3, ML_ERR_DEVICE, "mlx5_0 has no port 3, only 1 to 2");
    states[2] = IBV_PORT_DOWN;
    expect_refusal(0, ML_ERR_LINK, "mlx5_0 port 1 is down");
    query_error = EIO;
    expect_refusal(0, ML_ERR_DEVICE, "on mlx5_0 port 1: Input/output error");
}

/* A wiring's entry may name the port, which counts more than --rdma-port. */
static void test_names(void **state)
{
    (void)state;
    expect_port_named("mlx5_0:1", 0, 1);
    expect_port_named("mlx5_0:2", 0, 2);
    expect_port_named("mlx5_0:1", 2, 1);
    states[2] = IBV_PORT_DOWN;
    expect_refusal_named("mlx5_0:2", 0, ML_ERR_LINK, "mlx5_0 port 2 is down: check its cable");
    expect_refusal_named("mlx5_0:3", 0, ML_ERR_DEVICE, "mlx5_0 has no port 3, only 1 to 2");
    expect_refusal_named("mlx5_0:x", 0, ML_ERR_ARGUMENT,
                         "'mlx5_0:x' is not an RDMA device's name, or one with its port");
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_choice, setup),
        cmocka_unit_test_setup(test_refusals, setup),
        cmocka_unit_test_setup(test_names, setup),
    };

    return cmocka_run_group_tests_name("port", tests, NULL, NULL);
}

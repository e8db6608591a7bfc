/* SPDX-License-Identifier: MIT */
/* test_describe.c: how a device with two ports is described, and how GIDs are read back. The verbs
 * are mocks (mock_verbs.h). */
#include "rdma/probe/describe.h"
#include "rdma/verbs/device.h"
#include "tests/unit/rdma/mock_verbs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct mock_device devices[] = {
    {"m",
     {{IBV_PORT_ACTIVE, IBV_LINK_LAYER_ETHERNET, IBV_MTU_4096, "::ffff:10.1.0.1"},
      {IBV_PORT_DOWN, IBV_LINK_LAYER_INFINIBAND, IBV_MTU_1024, "fe80::1:0:0:2"}},
     MOCK_ALL},
    {.name = NULL}};

static json_t *described(void)
{
    struct ibv_context *context;
    struct fault why;
    json_t *said;

    assert_int_equal(device_open(&context, "m", &why), 0);
    said = describe_device(context);
    device_close(context);
    return said;
}

/* Each with its own state, kind and addresses. */
static void test_ports(void **state)
{
    json_t *said = described(), *ports = json_object_get(said, "ports");
    const char *layer, *word, *gid, *type, *ipv4;
    int number, is_active, mtu, lid, prefix;

    (void)state;
    assert_int_equal(json_array_size(ports), MOCK_PORTS);
    assert_int_equal(json_unpack(json_array_get(ports, 0),
                                 "{s:i, s:s, s:b, s:s, s:i, s:i, s:[{s:s, s:s, s:s, s:i}]}", "port",
                                 &number, "state", &word, "is_active", &is_active, "link_layer",
                                 &layer, "active_mtu", &mtu, "lid", &lid, "gids", "gid", &gid,
                                 "type", &type, "ipv4", &ipv4, "prefix", &prefix),
                     0);
    assert_int_equal(number, 1);
    assert_string_equal(word, "active");
    assert_true(is_active);
    assert_string_equal(layer, "Ethernet");
    assert_int_equal(mtu, 4096);
    assert_int_equal(lid, 11);
    assert_string_equal(gid, "::ffff:10.1.0.1");
    assert_string_equal(type, "RoCE v2");
    assert_string_equal(ipv4, "10.1.0.1");
    assert_int_equal(prefix, 24);
    assert_int_equal(json_unpack(json_array_get(ports, 1), "{s:i, s:s, s:b, s:s, s:i, s:[{s:s}]}",
                                 "port", &number, "state", &word, "is_active", &is_active,
                                 "link_layer", &layer, "active_mtu", &mtu, "gids", "gid", &gid),
                     0);
    assert_int_equal(number, 2);
    assert_string_equal(word, "down");
    assert_false(is_active);
    assert_string_equal(layer, "InfiniBand");
    assert_int_equal(mtu, 1024);
    assert_string_equal(gid, "fe80::1:0:0:2");
    json_decref(said);
}

/* As another host reads it. */
static void test_read(void **state)
{
    json_t *said = described();
    json_t *gids = json_object_get(json_array_get(json_object_get(said, "ports"), 0), "gids");
    struct gid out[2];

    (void)state;
    assert_int_equal(describe_gids_read(gids, out, 2), 1);
    assert_int_equal(out[0].index, 1);
    assert_int_equal(out[0].type, GID_ROCE_V2);
    assert_int_equal(out[0].prefix, 24);
    assert_int_equal(out[0].raw[15], 1);
    for (int i = 0; i < 3; i++)
        json_array_append(gids, json_array_get(gids, 0));
    assert_int_equal(describe_gids_read(gids, out, 2), 2); /* no more than there is room */
    json_object_set_new(json_array_get(gids, 0), "gid", json_string("10.1.0.1.7"));
    assert_int_equal(describe_gids_read(gids, out, 2), 0); /* all are that one */
    json_decref(said);
}

static int setup(void **state)
{
    (void)state;
    mock_verbs_begin(devices);
    return 0;
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_ports, setup, mock_verbs_end),
        cmocka_unit_test_setup_teardown(test_read, setup, mock_verbs_end),
    };

    return cmocka_run_group_tests_name("describe", tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* test_port_name.c: ports of RDMA devices as users write them. */
#include "common/text/port_name.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void test_split(void **state)
{
    static const struct {
        const char *text, *device;
        int port;
    } good[] = {{"mlx5_0", "mlx5_0", 0},
                {"mlx5_0:2", "mlx5_0", 2},
                {"mlx5_0:255", "mlx5_0", 255},
                {"a:b:1", "a:b", 1}};
    static const char *const bad[] = {"",     ":",     ":1",   "m:",    "m:0",
                                      "m:01", "m:256", "m:-1", "m:x",   "m:1x",
                                      "m: 1", "m:+1",  "m:1 ", "a:1:b", "m:99999999999999999999"};
    char device[PORT_NAME_DEVICE], text[PORT_NAME_TEXT], longest[2 * PORT_NAME_DEVICE];
    int port;

    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
        assert_true(port_name_split(good[i].text, device, &port));
        assert_string_equal(device, good[i].device);
        assert_int_equal(port, good[i].port);
        assert_string_equal(port_name_format(text, device, port), good[i].text);
    }
    strcpy(device, "kept");
    port = 77;
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        assert_false(port_name_split(bad[i], device, &port));
    memset(longest, 'x', PORT_NAME_DEVICE);
    strcpy(longest + PORT_NAME_DEVICE, ":1");
    assert_false(port_name_split(longest, device, &port));
    assert_string_equal(device, "kept");
    assert_int_equal(port, 77);
    assert_true(port_name_split(longest + 1, device, &port));
    assert_string_equal(port_name_format(text, device, 255) + PORT_NAME_DEVICE - 1, ":255");
}

int main(void)
{
    static const struct CMUnitTest tests[] = {cmocka_unit_test(test_split)};

    return cmocka_run_group_tests_name("port_name", tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* test_lost_device.c: ports that go down, and devices that disappear, below a directory that stands
 * for /sys. */
#include "launcher/agent/host/lost_device_linux.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char root[] = "/tmp/mlaunch-test.XXXXXX";
static const char *const folders[] = {"class",
                                      "class/infiniband",
                                      "class/infiniband/mlx5_0",
                                      "class/infiniband/mlx5_0/ports",
                                      "class/infiniband/mlx5_0/ports/1",
                                      "class/infiniband/mlx5_0/ports/2"};
enum { FOLDERS = sizeof(folders) / sizeof(*folders), PATH = 128 };

/* NULL removes the file. */
static void port_set(int port, const char *state)
{
    char path[PATH];
    FILE *f;

    snprintf(path, sizeof(path), "%s/class/infiniband/mlx5_0/ports/%d/state", root, port);
    if (!state) {
        unlink(path);
        return;
    }
    f = fopen(path, "we");
    assert_non_null(f);
    fputs(state, f);
    assert_int_equal(fclose(f), 0);
}

static int set_up(void **state)
{
    char path[PATH];

    (void)state;
    if (!mkdtemp(root))
        return -1;
    for (int i = 0; i < FOLDERS; i++) {
        snprintf(path, sizeof(path), "%s/%s", root, folders[i]);
        if (mkdir(path, 0700))
            return -1;
    }
    return 0;
}

static int tear_down(void **state)
{
    char path[PATH];

    (void)state;
    port_set(1, NULL);
    port_set(2, NULL);
    for (int i = FOLDERS - 1; i >= 0; i--) {
        snprintf(path, sizeof(path), "%s/%s", root, folders[i]);
        rmdir(path);
    }
    return rmdir(root);
}

static void test_ports(void **state)
{
    struct lost_device *d;
    char text[256] = "";

    (void)state;
    assert_null(lost_device_begin("/nonexistent"));
    port_set(1, "1: DOWN\n");
    assert_null(lost_device_begin(root));
    port_set(2, "4: ACTIVE\n");
    d = lost_device_begin(root);
    assert_non_null(d);
    assert_false(lost_device_find(text, sizeof(text), d));
    port_set(1, NULL); /* it was down before */
    assert_false(lost_device_find(text, sizeof(text), d));
    port_set(2, "2: INIT\n");
    assert_true(lost_device_find(text, sizeof(text), d));
    assert_string_equal(text, "port 2 of the RDMA device mlx5_0, which was ACTIVE when the ranks "
                              "were started, is INIT now");
    port_set(2, NULL);
    assert_true(lost_device_find(text, sizeof(text), d));
    assert_string_equal(text, "port 2 of the RDMA device mlx5_0, which was ACTIVE when the ranks "
                              "were started, is gone now");
    lost_device_end(d);
    lost_device_end(NULL);
    assert_false(lost_device_find(text, sizeof(text), NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_ports)};

    return cmocka_run_group_tests(tests, set_up, tear_down);
}

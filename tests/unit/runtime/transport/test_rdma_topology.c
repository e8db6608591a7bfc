/* SPDX-License-Identifier: MIT */
/* test_rdma_topology.c: what a rank reads of its job's RDMA wiring, and files that are none. */
#include "runtime/transport/rdma_topology.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char dir[] = "/tmp/mlaunch-test-rdma-wiring.XXXXXX";
static char path[sizeof(dir) + 16];

static int setup(void **state)
{
    (void)state;
    if (!mkdtemp(dir))
        return -1;
    snprintf(path, sizeof(path), "%s/rdma.json", dir);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(dir);
}

static void write_text(const char *text)
{
    FILE *to = fopen(path, "w");

    assert_non_null(to);
    fputs(text, to);
    assert_int_equal(fclose(to), 0);
}

static void expect_refused(const char *word)
{
    struct rdma_topology *w = NULL;
    struct fault why = {0};

    assert_int_equal(rdma_topology_read(&w, dir, &why), ML_ERR_SYSTEM);
    assert_null(w);
    if (!strstr(why.text, word) || !strstr(why.text, "rdma.json"))
        fail_msg("not about \"%s\": %s", word, why.text);
}

static void test_wiring(void **state)
{
    struct rdma_topology *w = NULL;
    struct fault why = {0};
    struct rdma_choice choice;
    const char *const *names;
    int count;

    (void)state;
    write_text("{\"wiring\":[[null,[\"mlx5_0\",\"mlx5_1\"]],[[\"mlx5_0\"],null]],\"port\":1,"
               "\"gid_index\":3,\"mtu\":4096,\"qp\":1}");
    assert_int_equal(rdma_topology_read(&w, dir, &why), 0);
    assert_int_equal(rdma_topology_devices(w, 0, 1, &names, &count, &why), 0);
    assert_int_equal(count, 2);
    assert_string_equal(names[0], "mlx5_0");
    assert_string_equal(names[1], "mlx5_1");
    assert_null(names[2]);
    assert_int_equal(rdma_topology_devices(w, 0, 0, &names, &count, &why), ML_ERR_ARGUMENT);
    assert_int_equal(rdma_topology_devices(w, 7, 1, &names, &count, &why), ML_ERR_ARGUMENT);
    choice = rdma_topology_choice(w);
    assert_int_equal(choice.port, 1);
    assert_int_equal(choice.gid_index, 3);
    assert_int_equal(choice.mtu, 4096);
    rdma_topology_destroy(w);
}

static void test_no_wiring(void **state)
{
    (void)state;
    unlink(path);
    expect_refused("No such file");
    write_text("{\"wiring\":[[null,");
    expect_refused("malformed");
    write_text("{\"port\":1}");
    expect_refused("no RDMA wiring");
    write_text("[]");
    expect_refused("no RDMA wiring");
    assert_int_equal(truncate(path, (64 << 20) + 1), 0);
    expect_refused("too long");
    unlink(path);
    assert_int_equal(mkfifo(path, 0600), 0);
    expect_refused("not a plain file");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_wiring),
                                       cmocka_unit_test(test_no_wiring)};

    return cmocka_run_group_tests(tests, setup, teardown);
}

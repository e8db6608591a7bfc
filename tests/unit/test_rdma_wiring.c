/* SPDX-License-Identifier: MIT */
#include "launcher/host_list.h"
#include "launcher/rdma_wiring.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { HOSTS = 3 };

/* Host i's device xJ leads to host j: 10.IJ.0.i, as the cables are. */
static json_t *devices_of(int host)
{
    json_t *list = json_array();

    for (int i = 0; i < HOSTS; i++) {
        int low = host < i ? host : i, high = host < i ? i : host;

        if (i != host)
            json_array_append_new(list, json_pack("{s:o, s:[{s:o, s:i}]}", "name",
                                                  json_sprintf("x%d", i), "gids", "ipv4",
                                                  json_sprintf("10.%d.0.%d", low * 10 + high, host),
                                                  "prefix", 24));
    }
    return list;
}

static char *names[][2] = {{"x0", NULL}, {"x1", NULL}, {"x2", NULL}};

static int check(const int wiring[HOSTS][HOSTS], int *culprit, struct fault *why)
{
    static char *none[] = {NULL};
    static int used[HOSTS] = {0, 1, 2};
    char **rows[HOSTS][HOSTS];
    struct host hosts[HOSTS] = {
        {.name = (char *)"a"}, {.name = (char *)"b"}, {.name = (char *)"c"}};
    struct host_list l = {.hosts = hosts, .count = HOSTS, .source = (char *)"hostfile h.json"};
    struct plan p = {.list = &l, .hosts = used, .host_count = HOSTS};
    json_t *devices[HOSTS];
    int rc;

    for (int i = 0; i < HOSTS; i++) {
        devices[i] = devices_of(i);
        for (int j = 0; j < HOSTS; j++)
            rows[i][j] = i == j ? none : names[wiring[i][j]];
        hosts[i].rdma = rows[i];
        hosts[i].rdma_count = HOSTS;
    }
    rc = rdma_wiring_check(devices, &p, culprit, why);
    for (int i = 0; i < HOSTS; i++)
        json_decref(devices[i]);
    return rc;
}

static void test_wiring(void **state)
{
    static const int good[HOSTS][HOSTS] = {{0, 1, 2}, {0, 0, 2}, {0, 1, 0}};
    static const int swapped[HOSTS][HOSTS] = {{0, 1, 2}, {0, 0, 2}, {1, 0, 0}};
    struct fault why;
    int culprit = -1;

    (void)state;
    assert_int_equal(check(good, &culprit, &why), 0);
    assert_int_equal(check(swapped, &culprit, &why), ML_ERR_ARGUMENT);
    assert_non_null(strstr(why.text, "does not fit the cables"));
    assert_non_null(strstr(why.text, "hostfile h.json says that x"));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wiring),
    };

    return cmocka_run_group_tests_name("rdma_wiring", tests, NULL, NULL);
}

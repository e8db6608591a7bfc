/* SPDX-License-Identifier: MIT */
/* test_wiring_table.c: the matrix of RDMA devices in the short form of JOB. */
#include "common/net/wiring_table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/fault.h"

/* Whether the short form of `matrix` is `text`, and reads as the matrix again. */
static void expect_table(const char *matrix, const char *text)
{
    json_t *whole = json_loads(matrix, 0, NULL), *table = wiring_table_write(whole), *read;
    char *found = json_dumps(table, JSON_COMPACT);

    assert_non_null(found);
    assert_string_equal(found, text);
    assert_int_equal(wiring_table_read(&read, table, (int)json_array_size(whole)), 0);
    assert_true(json_equal(read, whole));
    json_decref(read);
    json_decref(table);
    json_decref(whole);
    free(found);
}

static void test_forms(void **state)
{
    (void)state;
    expect_table("[[null]]", "{\"entries\":[null],\"own\":[0],\"others\":[]}");
    expect_table("[[[\"m\"],[\"m\"]],[[\"m\"],[\"m\"]]]",
                 "{\"entries\":[[\"m\"]],\"own\":[[0,1,2,1]],\"others\":[[0,1,2,1]]}");
    expect_table("[[null,[\"m:1\"],[\"m:2\"]],[[\"x\"],null,[]],[[\"x\"],[\"y\",\"z\"],null]]",
                 "{\"entries\":[null,[\"m:1\"],[\"m:2\"],[\"x\"],[],[\"y\",\"z\"]],"
                 "\"own\":[[0,1,3,1]],\"others\":[[1,4,1,1],3,5]}");
}

/* Each host reaches all others by one device, of one name or of a name for each host. */
static json_t *matrix_make(int hosts, bool is_one)
{
    json_t *matrix = json_array();

    for (int i = 0; i < hosts; i++) {
        json_t *row = json_array();

        for (int j = 0; j < hosts; j++)
            json_array_append_new(
                row,
                i == j ? json_null() : json_pack("[o]", json_sprintf("mlx5_%03d", is_one ? 0 : i)));
        json_array_append_new(matrix, row);
    }
    return matrix;
}

static size_t table_size(int hosts, bool is_one)
{
    json_t *matrix = matrix_make(hosts, is_one), *table = wiring_table_write(matrix), *read;
    char *text = json_dumps(table, JSON_COMPACT);
    size_t size;

    assert_non_null(text);
    size = strlen(text);
    assert_int_equal(wiring_table_read(&read, table, hosts), 0);
    assert_true(json_equal(read, matrix));
    json_decref(read);
    json_decref(table);
    json_decref(matrix);
    free(text);
    return size;
}

/* With equal names the size does not depend on the hosts, else each of them adds its name. */
static void test_size(void **state)
{
    (void)state;
    assert_in_range(table_size(128, true), 1, table_size(8, true) + 8);
    assert_in_range(table_size(128, false), 1, 128 * 16);
}

static void test_no_square(void **state)
{
    json_t *matrix = json_loads("[[null, null], [null]]", 0, NULL);

    (void)state;
    assert_null(wiring_table_write(matrix));
    json_decref(matrix);
}

static void test_refused(void **state)
{
    static const char *const tables[] = {
        "[]",
        "{}",
        "{\"entries\": [null], \"own\": [0, 0]}",
        "{\"entries\": {}, \"own\": [0, 0], \"others\": [0, 0]}",
        "{\"entries\": [\"m\"], \"own\": [0, 0], \"others\": [0, 0]}",
        "{\"entries\": [[1]], \"own\": [0, 0], \"others\": [0, 0]}",
        "{\"entries\": [null], \"own\": [0, 1], \"others\": [0, 0]}",
        "{\"entries\": [null], \"own\": [0, 0], \"others\": [0, -1]}",
        "{\"entries\": [null], \"own\": [0, 0], \"others\": [0]}",
        "{\"entries\": [null], \"own\": [0, 0], \"others\": [0, 0, 0]}",
        "{\"entries\": [], \"own\": [0, 0], \"others\": [0, 0]}",
    };
    json_t *out = NULL, *table;

    (void)state;
    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
        table = json_loads(tables[i], 0, NULL);
        assert_int_equal(wiring_table_read(&out, table, 2), ML_ERR_REFUSED);
        json_decref(table);
    }
    table = json_loads("{\"entries\": [null], \"own\": [[0,1,5000,1]], "
                       "\"others\": [[0,1,24995000,1]]}",
                       0, NULL);
    assert_int_equal(wiring_table_read(&out, table, 5000), ML_ERR_REFUSED);
    json_decref(table);
    assert_null(out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forms),
        cmocka_unit_test(test_size),
        cmocka_unit_test(test_no_square),
        cmocka_unit_test(test_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* test_server_split.c: CREATE: who gets which group, and who is told why there is none. */
#include "tests/unit/coordinator/fixture.h"

#include "coordinator/protocol.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* ranks: a JSON list of `count` numbers. */
static void create(struct fixture *f, int rank, long long tag, int timeout_ms, int count,
                   const char *ranks)
{
    send_text(f->ranks[rank], COORD_CREATE,
              "{\"group\": 0, \"tag\": %lld, \"timeout_ms\": %d, \"count\": %d, \"ranks\": %s}",
              tag, timeout_ms, count, ranks);
}

static void expect_created(struct fixture *f, int rank, int value)
{
    json_t *message = expect_frame(f->ranks[rank], COORD_CREATED);

    assert_int_equal(json_integer_value(json_object_get(message, "group")), 0);
    assert_int_equal(json_integer_value(json_object_get(message, "value")), value);
    json_decref(message);
}

static void expect_no_group(struct fixture *f, int rank, int code, const char *text)
{
    expect_text(f->ranks[rank], COORD_CREATED, "code", code, text);
}

/* Several are under way; each rank gets the number of its own. */
static void test_groups(void **state)
{
    struct fixture *f = fixture_start_joined(5, 0);

    (void)state;
    create(f, 0, 1, PATIENCE_MS, 2, "[0, 1]");
    create(f, 2, -1, PATIENCE_MS, 3, "[4, 3, 2]");
    create(f, 4, -1, PATIENCE_MS, 3, "[4, 3, 2]");
    create(f, 1, 1, PATIENCE_MS, 2, "[0, 1]");
    expect_created(f, 0, 1);
    expect_created(f, 1, 1);
    create(f, 0, -1, PATIENCE_MS, 1, "[0]");
    expect_created(f, 0, 2);
    create(f, 3, -1, PATIENCE_MS, 3, "[4, 3, 2]");
    for (int i = 2; i < 5; i++)
        expect_created(f, i, 3);
    /* They are groups as others are, in that order. */
    for (int i = 2; i < 5; i++)
        send_blobs(f->ranks[i], 3, 1, 1, (const char *const[]){i == 4 ? "first" : "x"});
    for (int i = 2; i < 5; i++)
        expect_blobs(f->ranks[i], 1, 3, "first,x,x,");
    fixture_stop(f);
}

static void test_timeout(void **state)
{
    struct fixture *f = fixture_start_joined(4, 0);

    (void)state;
    create(f, 0, 1, 50, 4, "[0, 1, 2, 3]");
    create(f, 2, 1, PATIENCE_MS, 4, "[0, 1, 2, 3]"); /* the first one's time counts */
    expect_no_group(f, 0, ML_ERR_TIMEOUT,
                    "rank 1 on host b and rank 3 on host d have not called ml_group_create in "
                    "time");
    expect_no_group(f, 2, ML_ERR_TIMEOUT, "rank 1 on host b and rank 3 on host d have not");
    create(f, 1, 1, 0, 4, "[0, 1, 2, 3]");
    expect_no_group(f, 1, ML_ERR_TIMEOUT, "rank 0 on host a, rank 2 on host c and rank 3");
    fixture_stop(f);
}

static void test_mismatch(void **state)
{
    struct fixture *f = fixture_start_joined(4, 0);

    (void)state;
    create(f, 0, 1, PATIENCE_MS, 3, "[0, 1, 2]");
    create(f, 3, 1, PATIENCE_MS, 2, "[3, 2]");
    create(f, 1, 1, PATIENCE_MS, 3, "[0, 2, 1]");
    for (int i = 0; i < 2; i++)
        expect_no_group(f, i, ML_ERR_MISMATCH,
                        "rank 1 on host b has called ml_group_create with the same tag and other "
                        "ranks");
    create(f, 2, 1, PATIENCE_MS, 2, "[3, 2]"); /* rank 3 was not concerned */
    expect_created(f, 2, 1);
    expect_created(f, 3, 1);
    fixture_stop(f);
}

static void test_death(void **state)
{
    struct fixture *f = fixture_start_joined(4, 0);
    json_t *message;

    (void)state;
    create(f, 0, 1, PATIENCE_MS, 2, "[0, 1]");
    create(f, 2, 1, PATIENCE_MS, 2, "[2, 3]");
    fixture_tell(f, "exited 1 %d was killed by signal 9 (Killed) on host b", HOST_PID + 1);
    fixture_close_rank(f, 1);
    for (int i = 0; i < 4; i++)
        if (i != 1) {
            message = expect_frame(f->ranks[i], COORD_DEAD);
            json_decref(message);
        }
    expect_no_group(f, 0, ML_ERR_PEER, "rank 1 was killed by signal 9 (Killed) on host b");
    create(f, 0, 1, PATIENCE_MS, 2, "[0, 1]");
    expect_no_group(f, 0, ML_ERR_PEER, "rank 1 was killed by signal 9 (Killed) on host b");
    create(f, 3, 1, PATIENCE_MS, 2, "[2, 3]"); /* not concerned */
    expect_created(f, 2, 1);
    expect_created(f, 3, 1);
    create(f, 0, 1, PATIENCE_MS, 2, "[3, 0]");
    send_text(f->ranks[3], COORD_LEAVE, "{}");
    expect_left(f->ranks[3], 3);
    expect_no_group(f, 0, ML_ERR_PEER, "rank 3 on host d has called ml_finalize");
    fixture_stop(f);
}

static void test_repair(void **state)
{
    struct fixture *f = fixture_start_joined(3, 0);
    json_t *message;

    (void)state;
    create(f, 0, 1, PATIENCE_MS, 2, "[0, 1]");
    send_text(f->ranks[2], COORD_REPAIR, "{\"pid\": 1, \"timeout_ms\": 20000, \"groups\": 0}");
    for (int i = 0; i < 3; i++)
        expect_text(f->ranks[i], COORD_BROKEN, "code", ML_ERR_PEER, "has called ml_repair");
    /* With the rank's name, if the call came before its repair. */
    expect_no_group(f, 0, ML_ERR_PEER, "has called ml_repair");
    create(f, 1, 1, PATIENCE_MS, 2, "[0, 1]");
    expect_no_group(f, 1, ML_ERR_PEER, "a rank has called ml_repair");
    for (int i = 0; i < 2; i++)
        send_text(f->ranks[i], COORD_REPAIR, "{\"pid\": 1, \"timeout_ms\": 20000, \"groups\": 0}");
    for (int i = 0; i < 3; i++) {
        message = expect_frame(f->ranks[i], COORD_REPAIRED);
        json_decref(message);
    }
    create(f, 1, 1, PATIENCE_MS, 2, "[0, 1]");
    expect_no_group(f, 1, ML_ERR_PEER, "the group is of an earlier membership");
    fixture_stop(f);
}

/* Who keeps others waiting for long is reported once, and how a job ends with some that wait. */
static void test_stall(void **state)
{
    struct fixture *f = fixture_start_joined(3, 300);

    (void)state;
    create(f, 2, 1, PATIENCE_MS, 3, "[0, 1, 2]");
    create(f, 1, 1, PATIENCE_MS, 3, "[0, 1, 2]");
    expect_report(f, "stall rank 0 on host a has not called ml_group_create; ranks 1,2 have "
                     "waited 0 s for it");
    expect_no_report(f);
    fixture_stop(f);
}

static void refused(const char *report, const char *payload, bool comes_twice)
{
    struct fixture *f = fixture_start_joined(3, 0);

    send_text(f->ranks[1], COORD_CREATE, "%s", payload);
    if (comes_twice)
        send_text(f->ranks[1], COORD_CREATE, "%s", payload);
    expect_report(f, report);
    expect_closed(f->ranks[1]);
    fixture_stop(f);
}

static void test_refused(void **state)
{
    static const char malformed[] = "cut off rank 1 on host b: its CREATE is malformed";
    static const char *const bad[] = {
        "{}",
        "{\"group\": 0, \"tag\": 1, \"timeout_ms\": 1, \"count\": 0, \"ranks\": []}",
        "{\"group\": 0, \"tag\": 1, \"timeout_ms\": 1, \"count\": 4, \"ranks\": [0, 1, 2, 1]}",
        "{\"group\": 0, \"tag\": 1, \"timeout_ms\": 1, \"count\": 3, \"ranks\": [0, 1, 3]}",
        "{\"group\": 0, \"tag\": 1, \"timeout_ms\": 1, \"count\": 3, \"ranks\": [0, 1, 1]}",
        "{\"group\": 0, \"tag\": 1, \"timeout_ms\": 1, \"count\": 2, \"ranks\": [0, 2]}",
        "{\"group\": 0, \"tag\": 1, \"timeout_ms\": 1, \"count\": 3, \"ranks\": [0, 1]}",
        "{\"group\": 0, \"tag\": 1, \"timeout_ms\": -1, \"count\": 2, \"ranks\": [0, 1]}",
        "{\"group\": 0, \"tag\": 1, \"timeout_ms\": 4294967296, \"count\": 2, \"ranks\": [0, 1]}",
        "{\"group\": 0, \"tag\": 1, \"timeout_ms\": 1, \"count\": 2, \"ranks\": \"0 1\"}",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        refused(malformed, bad[i], false);
    refused("cut off rank 1 on host b: its CREATE names a group that it is not in",
            "{\"group\": 5, \"tag\": 1, \"timeout_ms\": 1, \"count\": 2, \"ranks\": [0, 1]}",
            false);
    refused("cut off rank 1 on host b: its CREATE names a group that it is not in",
            "{\"group\": -1, \"tag\": 1, \"timeout_ms\": 1, \"count\": 2, \"ranks\": [0, 1]}",
            false);
    refused("cut off rank 1 on host b: its CREATE came twice",
            "{\"group\": 0, \"tag\": 1, \"timeout_ms\": 20000, \"count\": 2, \"ranks\": [0, 1]}",
            true);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST_BOTH(test_groups),         TEST_BOTH(test_timeout), TEST_BOTH(test_mismatch),
        TEST_BOTH(test_death),          TEST_BOTH(test_repair),  TEST_BOTH(test_stall),
        cmocka_unit_test(test_refused),
    };

    return cmocka_run_group_tests_name("server_split", tests, NULL, NULL);
}

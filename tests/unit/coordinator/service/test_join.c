/* SPDX-License-Identifier: MIT */
/* test_join.c: ranks that join, and joins that fail. */
#include "tests/unit/coordinator/fixture.h"

#include "common/clock.h"
#include "common/net/host_table.h"
#include "coordinator/protocol.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void test_join(void **state)
{
    struct fixture *f = fixture_start(3, 0);
    json_t *welcome;
    int *host_of;

    (void)state;
    for (int i = 0; i < 3; i++) {
        f->ranks[i] = fixture_open_rank(f, i, 7);
        fixture_join(f, i, PATIENCE_MS);
    }
    for (int i = 0; i < 3; i++) {
        welcome = expect_frame(f->ranks[i], COORD_WELCOME);
        assert_int_equal(json_integer_value(json_object_get(welcome, "size")), 3);
        assert_int_equal(json_integer_value(json_object_get(welcome, "hosts")), FIXTURE_HOSTS);
        assert_int_equal(host_table_read_numbers(&host_of, json_object_get(welcome, "host_of"), 3,
                                                 FIXTURE_HOSTS),
                         0);
        assert_int_equal(host_of[2], 2);
        free(host_of);
        assert_string_equal(json_string_value(json_array_get(json_object_get(welcome, "names"), 1)),
                            "b");
        json_decref(welcome);
    }
    fixture_stop(f);
}

static void test_generations_are_independent(void **state)
{
    struct fixture *f = fixture_start_joined(2, 0);
    struct client *next[2] = {fixture_open_rank(f, 0, 2), fixture_open_rank(f, 1, 2)};

    (void)state;
    for (int i = 0; i < 2; i++)
        send_text(next[i], COORD_JOIN, "{\"pid\": 5, \"timeout_ms\": %d}", PATIENCE_MS);
    for (int i = 0; i < 2; i++)
        json_decref(expect_frame(next[i], COORD_WELCOME));
    /* A death in generation 1 does not concern generation 2, which is told only of its own
     * break. */
    fixture_close_rank(f, 1);
    expect_text(f->ranks[0], COORD_DEAD, "rank", 1, "rank 1 on host b (pid 1001) has ended");
    send_text(next[0], COORD_BREAK, "{\"group\": 0, \"code\": -4, \"text\": \"mine\"}");
    expect_text(next[0], COORD_BROKEN, "code", -4, "mine");
    expect_text(next[1], COORD_BROKEN, "code", -4, "mine");
    client_close(next[0]);
    client_close(next[1]);
    fixture_stop(f);
}

static void test_held_twice(void **state)
{
    struct fixture *f = fixture_start_joined(2, 0);
    struct client *second = fixture_open_rank(f, 1, 1);

    (void)state;
    send_text(second, COORD_JOIN, "{\"pid\": 5, \"timeout_ms\": 1000}");
    expect_text(second, COORD_FAILED, "code", ML_ERR_STATE,
                "rank 1 on host b is held by another process (pid 1001)");
    client_close(second);
    fixture_stop(f);
}

static void test_unknown_rank(void **state)
{
    struct fixture *f = fixture_start(2, 0);
    struct client *c = NULL;
    struct fault why;

    (void)state;
    assert_int_equal(client_open(&c, f->address, NULL, "job", fixture_secret, 2, 1,
                                 clock_ms() + PATIENCE_MS, &why),
                     ML_ERR_REFUSED);
    assert_non_null(strstr(why.text, "expects no rank 2"));
    expect_report(f, "expects no rank 2");
    fixture_stop(f);
}

static void test_time_out(void **state)
{
    struct fixture *f = fixture_start(9, 0);

    (void)state;
    f->ranks[0] = fixture_open_rank(f, 0, 1);
    f->ranks[1] = fixture_open_rank(f, 1, 1);
    fixture_join(f, 1, PATIENCE_MS);
    fixture_join(f, 0, 50);
    for (int i = 0; i < 2; i++)
        expect_text(
            f->ranks[i], COORD_FAILED, "code", ML_ERR_TIMEOUT,
            "rank 2 on host c, rank 3 on host d, rank 4 on host a, rank 5 on host b, rank 6 "
            "on host c and 2 more have not called ml_init within 0.05 s");
    /* A rank that joins too late is told at once. */
    f->ranks[2] = fixture_open_rank(f, 2, 1);
    fixture_join(f, 2, PATIENCE_MS);
    expect_text(f->ranks[2], COORD_FAILED, "code", ML_ERR_TIMEOUT, "have not called ml_init");
    fixture_stop(f);
}

/* While the job pauses, no time passes. */
static struct fixture *start_paused(void)
{
    struct fixture *f = fixture_start(2, 0);

    fixture_tell(f, "pause");
    expect_report(f, "paused");
    f->ranks[0] = fixture_open_rank(f, 0, 1);
    f->ranks[1] = fixture_open_rank(f, 1, 1);
    fixture_join(f, 0, 0);
    return f;
}

static void test_pause(void **state)
{
    struct fixture *f = start_paused();

    (void)state;
    fixture_join(f, 1, 0);
    json_decref(expect_frame(f->ranks[0], COORD_WELCOME));
    fixture_stop(f);

    f = start_paused();
    fixture_tell(f, "resume");
    expect_text(f->ranks[0], COORD_FAILED, "code", ML_ERR_TIMEOUT, "rank 1 on host b has");
    fixture_stop(f);
}

static void test_one_missing(void **state)
{
    struct fixture *f = fixture_start(2, 0);

    (void)state;
    f->ranks[0] = fixture_open_rank(f, 0, 1);
    fixture_join(f, 0, 0);
    expect_text(f->ranks[0], COORD_FAILED, "code", ML_ERR_TIMEOUT,
                "rank 1 on host b has not called ml_init within 0 s");
    fixture_stop(f);
}

static void test_exited_without_joining(void **state)
{
    static const char text[] =
        "rank 1 exited with status 0 on host b (pid 9) without calling ml_init";
    struct fixture *f = fixture_start(3, 0);

    (void)state;
    f->ranks[0] = fixture_open_rank(f, 0, 1);
    fixture_join(f, 0, PATIENCE_MS);
    fixture_tell(f, "exited 1 9 exited with status 0 on host b (pid 9)");
    expect_text(f->ranks[0], COORD_FAILED, "code", ML_ERR_PEER, text);
    f->ranks[2] = fixture_open_rank(f, 2, 2);
    fixture_join(f, 2, PATIENCE_MS);
    expect_text(f->ranks[2], COORD_FAILED, "code", ML_ERR_PEER, text);
    fixture_stop(f);
}

static void test_died_while_others_join(void **state)
{
    static const char text[] =
        "rank 0 was killed by signal 9 (Killed) on host a (pid 1000) before all ranks had called "
        "ml_init";
    struct fixture *f = fixture_start(3, 0);

    (void)state;
    for (int i = 0; i < 2; i++) {
        f->ranks[i] = fixture_open_rank(f, i, 1);
        fixture_join(f, i, PATIENCE_MS);
    }
    fixture_close_rank(f, 0);
    fixture_tell(f, "exited 0 1000 was killed by signal 9 (Killed) on host a (pid 1000)");
    expect_text(f->ranks[1], COORD_FAILED, "code", ML_ERR_PEER, text);
    f->ranks[2] = fixture_open_rank(f, 2, 1);
    fixture_join(f, 2, PATIENCE_MS);
    expect_text(f->ranks[2], COORD_FAILED, "code", ML_ERR_PEER, text);
    fixture_stop(f);
}

static void test_stall(void **state)
{
    struct fixture *f = fixture_start(4, 300);
    struct client *next;

    (void)state;
    for (int i = 0; i < 3; i++) {
        f->ranks[i] = fixture_open_rank(f, i, 1);
        fixture_join(f, i, PATIENCE_MS);
    }
    expect_report(f, "stall rank 3 on host d has not called ml_init; ranks 0-2 have waited 0 s for "
                     "it");
    expect_no_report(f);
    /* When the job is ended because it takes too long, it is told once more. */
    fixture_tell(f, "waits");
    expect_report(f, "stall rank 3 on host d has not called ml_init");
    f->ranks[3] = fixture_open_rank(f, 3, 1);
    fixture_join(f, 3, PATIENCE_MS);
    for (int i = 0; i < 4; i++)
        json_decref(expect_frame(f->ranks[i], COORD_WELCOME));
    fixture_tell(f, "waits");
    expect_no_report(f);
    /* The next time, others come late. */
    next = fixture_open_rank(f, 0, 2);
    send_text(next, COORD_JOIN, "{\"pid\": 5, \"timeout_ms\": %d}", PATIENCE_MS);
    expect_report(f, "stall rank 1 on host b, rank 2 on host c and rank 3 on host d have not "
                     "called ml_init again; rank 0 has waited 0 s for them");
    client_close(next);
    fixture_stop(f);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST_BOTH(test_join),
        TEST_BOTH(test_generations_are_independent),
        TEST_BOTH(test_held_twice),
        cmocka_unit_test(test_unknown_rank),
        TEST_BOTH(test_time_out),
        cmocka_unit_test(test_pause),
        TEST_BOTH(test_one_missing),
        TEST_BOTH(test_exited_without_joining),
        TEST_BOTH(test_died_while_others_join),
        TEST_BOTH(test_stall),
    };

    return cmocka_run_group_tests_name("join", tests, NULL, NULL);
}

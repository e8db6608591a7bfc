/* SPDX-License-Identifier: MIT */
/* test_liveness.c: ranks that die, leave or abort, and what the others are told. */
#include "tests/unit/coordinator/fixture.h"

#include "common/clock.h"
#include "coordinator/protocol.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

static void test_death(void **state)
{
    struct fixture *f = fixture_start_joined(4, 0);

    (void)state;
    /* The agent's report comes before the end of the connection, after it, or not at all. */
    fixture_tell(f, "exited 1 1001 exited with status 3 on host b (pid 1001)");
    fixture_close_rank(f, 1);
    for (int i = 0; i < 4; i++) {
        if (i != 1)
            expect_text(f->ranks[i], COORD_DEAD, "rank", 1,
                        "rank 1 exited with status 3 on host b (pid 1001)");
    }
    fixture_close_rank(f, 2);
    fixture_tell(f,
                 "exited 2 1002 was killed by signal 11 (Segmentation fault) on host c (pid 1002)");
    expect_text(f->ranks[0], COORD_DEAD, "rank", 2, "rank 2 was killed by signal 11");
    expect_text(f->ranks[3], COORD_DEAD, "rank", 2, "rank 2 was killed by signal 11");
    fixture_close_rank(f, 3);
    expect_text(f->ranks[0], COORD_DEAD, "rank", 3,
                "rank 3 on host d (pid 1003) has ended without calling ml_finalize");
    fixture_stop(f);
}

static void test_socket_outlives_process(void **state)
{
    struct fixture *f = fixture_start_joined(2, 0);

    (void)state;
    /* The connection stays open, as if a forked child held the socket. */
    fixture_tell(f, "exited 1 1001 was killed by signal 9 (Killed) on host b (pid 1001)");
    expect_text(f->ranks[0], COORD_DEAD, "rank", 1, "rank 1 was killed by signal 9 (Killed)");
    expect_closed(f->ranks[1]);
    fixture_stop(f);
}

static void test_child_holds_the_claim(void **state)
{
    struct fixture *f = fixture_start_joined(2, 0);

    (void)state;
    /* The first process (another pid) has ended, but the process that holds the claim continues. */
    fixture_tell(f, "exited 1 77 exited with status 0 on host b (pid 77)");
    send_text(f->ranks[1], COORD_BREAK, "{\"group\": 0, \"code\": -4, \"text\": \"alive\"}");
    expect_text(f->ranks[0], COORD_BROKEN, "code", -4, "alive");
    fixture_close_rank(f, 1);
    expect_text(f->ranks[0], COORD_DEAD, "rank", 1, "rank 1 on host b (pid 1001) has ended");
    fixture_stop(f);
}

static void test_leave(void **state)
{
    struct fixture *f = fixture_start_joined(2, 0);
    uint8_t exchange[16] = {[7] = 1, [11] = 1};
    struct fault why;

    (void)state;
    send_text(f->ranks[1], COORD_LEAVE, "{}");
    expect_left(f->ranks[1], 1);
    expect_left(f->ranks[0], 1);
    /* Its end is not a death: the next frame is the answer to an exchange that it cannot join. */
    fixture_close_rank(f, 1);
    fixture_tell(f, "exited 1 1001 exited with status 0 on host b (pid 1001)");
    assert_int_equal(client_send(f->ranks[0], COORD_EXCHANGE, exchange, sizeof(exchange), &why), 0);
    expect_text(f->ranks[0], COORD_BROKEN, "code", ML_ERR_PEER,
                "rank 1 on host b has called ml_finalize");
    fixture_stop(f);
}

static void test_abort(void **state)
{
    struct fixture *f = fixture_start_joined(2, 0);

    (void)state;
    send_text(f->ranks[1], COORD_ABORT, "{\"status\": 7, \"why\": \"no data\"}");
    expect_left(f->ranks[1], 1);
    expect_report(f, "abort 1 7 no data");
    fixture_close_rank(f, 1);
    expect_text(f->ranks[0], COORD_DEAD, "rank", 1, "rank 1 on host b called ml_abort: no data");
    fixture_stop(f);
}

/* It goes no further than to the rank's own agent. */
static void test_unreached(void **state)
{
    struct fixture *f = fixture_start_joined(4, 0);

    (void)state;
    send_text(f->ranks[1], COORD_UNREACHED,
              "{\"rank\": 2, \"generation\": 1, \"membership\": 5, \"text\": \"no route\"}");
    expect_report(f, "unreached 1 2 of 1.5 no route");
    send_text(f->ranks[0], COORD_UNREACHED,
              "{\"rank\": 3, \"generation\": 1, \"membership\": 0, \"text\": \"\"}");
    expect_report(f, "unreached 0 3 of 1.0 ");
    send_text(f->ranks[1], COORD_UNREACHED,
              "{\"rank\": 4, \"generation\": 1, \"membership\": 0, \"text\": \"no route\"}");
    expect_report(f, "refused ");
    fixture_stop(f);
}

/* So does this, also while the coordinator is lost. */
static void test_alone(void **state)
{
    struct fixture *f = fixture_start_joined(4, 0);

    (void)state;
    send_text(f->ranks[1], COORD_ALONE, "{\"text\": \"no room\"}");
    expect_report(f, "alone 1 no room");
    send_text(f->ranks[1], COORD_ALONE, "{\"text\": \"\"}");
    expect_report(f, "alone 1 ");
    send_text(f->ranks[1], COORD_ALONE, "{}");
    expect_report(f, "refused ");
    fixture_stop(f);
}

static void test_agent_client(void **state)
{
    struct fixture *f = fixture_start_joined(4, 0);

    (void)state;
    fixture_tell(f, "link 1");
    fixture_tell(f, "tell 1 1001 was killed by signal 9 (Killed) on host b (pid 1001)");
    fixture_close_rank(f, 1);
    expect_text(f->ranks[0], COORD_DEAD, "rank", 1, "rank 1 was killed by signal 9 (Killed)");
    expect_text(f->ranks[2], COORD_DEAD, "rank", 1, "rank 1 was killed by signal 9 (Killed)");
    fixture_stop(f);
}

static void test_lost_host(void **state)
{
    struct auth_identity me = {.purpose = "agent", .rank = 2};
    struct fixture *f = fixture_start_joined(4, 0);
    struct frame_reader *r;
    struct address to;
    struct fault why;
    int fd;

    (void)state;
    assert_int_equal(frame_reader_create(&r, FRAME_LIMIT, &why), 0);
    assert_int_equal(address_parse(&to, f->address, &why), 0);
    assert_int_equal(address_connect(&to, clock_ms() + PATIENCE_MS, &fd, &why), 0);
    assert_int_equal(
        auth_connect(fd, r, "job", fixture_secret, &me, clock_ms() + PATIENCE_MS, &why), 0);
    close(fd);
    frame_reader_destroy(r);
    expect_text(f->ranks[0], COORD_DEAD, "rank", 2, "rank 2 is gone: host c was lost");
    expect_text(f->ranks[1], COORD_DEAD, "rank", 2, "rank 2 is gone: host c was lost");
    expect_closed(f->ranks[2]);
    fixture_stop(f);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST_BOTH(test_death),
        TEST_BOTH(test_socket_outlives_process),
        TEST_BOTH(test_child_holds_the_claim),
        TEST_BOTH(test_leave),
        TEST_BOTH(test_abort),
        TEST_BOTH(test_unreached),
        TEST_BOTH(test_alone),
        TEST_BOTH(test_agent_client),
        cmocka_unit_test(test_lost_host),
    };

    return cmocka_run_group_tests_name("liveness", tests, NULL, NULL);
}

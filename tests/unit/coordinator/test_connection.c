/* SPDX-License-Identifier: MIT */
/* test_connection.c: connections without a proof, and members that send malformed messages. */
#include "tests/unit/coordinator/fixture.h"

#include "common/clock.h"
#include "coordinator/protocol.h"

#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

static void test_refused_connections(void **state)
{
    static const uint8_t other[AUTH_SECRET] = {9};
    static const char http[] = "GET / HTTP/1.1\r\n\r\n";
    struct fixture *f = fixture_start(2, 0);
    struct client *c = NULL;
    struct address to;
    struct fault why;
    char rest[256];
    int fd;

    (void)state;
    assert_int_equal(
        client_open(&c, f->address, "job", other, 0, 1, clock_ms() + PATIENCE_MS, &why),
        ML_ERR_REFUSED);
    expect_report(f, "refused the coordinator refused a connection from 127.0.0.1:");
    assert_int_equal(
        client_open(&c, f->address, "x", fixture_secret, 0, 1, clock_ms() + PATIENCE_MS, &why),
        ML_ERR_REFUSED);
    assert_non_null(strstr(why.text, "another job"));
    expect_report(f, "(2 so far): it belongs to another job");
    assert_int_equal(address_parse(&to, f->address, &why), 0);
    assert_int_equal(address_connect(&to, clock_ms() + PATIENCE_MS, &fd, &why), 0);
    assert_int_equal(send(fd, http, sizeof(http), MSG_NOSIGNAL), sizeof(http));
    expect_report(f, "(3 so far)");
    shutdown(fd, SHUT_WR);
    while (poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, PATIENCE_MS) == 1 &&
           recv(fd, rest, sizeof(rest), 0) > 0)
        ;
    close(fd);
    /* The job is not affected. */
    for (int i = 0; i < 2; i++) {
        f->ranks[i] = fixture_open_rank(f, i, 1);
        fixture_join(f, i, PATIENCE_MS);
    }
    json_decref(expect_frame(f->ranks[0], COORD_WELCOME));
    fixture_stop(f);
}

/* Takes 10 s, the time limit for the handshake. */
static void test_silent_connection(void **state)
{
    struct fixture *f;
    struct address to;
    struct fault why;
    char rest[16];
    int fd;

    (void)state;
    f = fixture_start(2, 0);
    assert_int_equal(address_parse(&to, f->address, &why), 0);
    assert_int_equal(address_connect(&to, clock_ms() + PATIENCE_MS, &fd, &why), 0);
    expect_report(f, "it did not prove within 10 s that it belongs to this job");
    assert_int_equal(poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, PATIENCE_MS), 1);
    assert_int_equal(recv(fd, rest, sizeof(rest), 0), 0);
    close(fd);
    fixture_stop(f);
}

static void test_malformed_messages(void **state)
{
    struct fixture *f = fixture_start_joined(3, 0);

    (void)state;
    send_text(f->ranks[1], COORD_SPLIT, "[1, 2]");
    expect_report(
        f, "refused the coordinator cut off rank 1 on host b: message 18 is not a JSON object");
    expect_closed(f->ranks[1]);
    expect_text(f->ranks[0], COORD_DEAD, "rank", 1, "rank 1 on host b");
    send_blobs(f->ranks[2], 0, 1, 2, (const char *const[]){"two", "of three"});
    expect_report(f, "cut off rank 2 on host c: its EXCHANGE is malformed");
    expect_text(f->ranks[0], COORD_DEAD, "rank", 2, "rank 2 on host c");
    fixture_stop(f);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refused_connections),
        cmocka_unit_test(test_malformed_messages),
    };
    static const struct CMUnitTest long_tests[] = {
        cmocka_unit_test(test_silent_connection),
    };

    if (getenv("MLAUNCH_TEST_LONG"))
        return cmocka_run_group_tests_name("connection, long", long_tests, NULL, NULL);
    return cmocka_run_group_tests_name("connection", tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* test_host_relay.c: what is different for ranks that talk to their host's agent. The coordinator
 * sends each host one message, only the host's own ranks are let in, what waits is bounded, and an
 * agent that talks nonsense is cut off. */
#include "coordinator/host/host_relay.h"

#include "common/clock.h"
#include "common/net/host_table.h"
#include "common/net/shared_copy.h"
#include "coordinator/protocol.h"
#include "tests/unit/coordinator/fixture.h"

#include <arpa/inet.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

enum { BLOB = 32, LARGE = 6 << 20 };

static struct fixture *relayed_start(int size, int hosts)
{
    fixture_relay(NULL);
    fixture_choice.hosts = hosts;
    return fixture_start_joined(size, 0);
}

static int choice_reset(void **state)
{
    fixture_choice.hosts = FIXTURE_HOSTS;
    fixture_choice.unread_most = 0;
    fixture_choice.process_rank = -1;
    fixture_choice.is_mute = false;
    fixture_choice.leavers_ms = 0;
    return fixture_relay_no_more(state);
}

/* An exchange of BLOB bytes of each rank; how many bytes each host but the first gets for it. */
static long exchange_bytes(int hosts)
{
    struct fixture *f = relayed_start(RANKS_MAX, hosts);
    char blob[BLOB + 1], expected[RANKS_MAX * (BLOB + 1) + 1] = "";
    long before[FIXTURE_HOSTS], bytes = 0;
    int casts[FIXTURE_HOSTS];

    memset(blob, 'x', BLOB);
    blob[BLOB] = '\0';
    for (int i = 0; i < hosts; i++) {
        before[i] = f->agents[i].cast_bytes;
        casts[i] = f->agents[i].casts;
    }
    for (int i = 0; i < RANKS_MAX; i++) {
        strcat(strcat(expected, blob), ",");
        send_blobs(f->ranks[i], 0, 1, 1, (const char *const[]){blob});
    }
    for (int i = 0; i < RANKS_MAX; i++)
        expect_blobs(f->ranks[i], 1, RANKS_MAX, expected);
    for (int i = 1; i < hosts; i++) {
        assert_int_equal(f->agents[i].casts - casts[i], 1); /* one message for all its ranks */
        bytes = f->agents[i].cast_bytes - before[i];
    }
    fixture_stop(f);
    return bytes;
}

/* What a host gets does not grow with the number of its ranks, but for their channels: with twice
 * the hosts the coordinator sends twice as much. */
static void test_one_message_a_host(void **state)
{
    long few = exchange_bytes(2), many = exchange_bytes(4);

    (void)state;
    assert_in_range(few, RANKS_MAX * BLOB, RANKS_MAX * (BLOB + 4) + 12 + RANKS_MAX / 2 * 4);
    assert_int_equal(few - many, (RANKS_MAX / 2 - RANKS_MAX / 4) * 4);
}

static void expect_refused(struct fixture *f, const char *directory, int rank, const char *expected)
{
    struct fault why = {0};
    struct client *c;

    assert_int_equal(client_open(&c, f->address, directory, "job", fixture_secret, rank, 1,
                                 clock_ms() + PATIENCE_MS, &why),
                     ML_ERR_REFUSED);
    if (!strstr(why.text, expected))
        fail_msg("\"%s\" instead of \"%s\"", why.text, expected);
    expect_report(f, expected);
}

/* Ranks that leave at about the same time come in one message to a rank that stays. */
static void test_all_leave(void **state)
{
    enum { RANKS = 8 };
    struct fixture *f;
    json_t *left;
    int *ranks;

    (void)state;
    fixture_choice.leavers_ms = 1000; /* all leave within it */
    f = relayed_start(RANKS, 2);
    for (int i = 1; i < RANKS; i++)
        send_text(f->ranks[i], COORD_LEAVE, "{}");
    for (int i = 1; i < RANKS; i++)
        expect_left(f->ranks[i], i);
    left = expect_frame(f->ranks[0], COORD_LEFT);
    assert_int_equal(json_integer_value(json_object_get(left, "count")), RANKS - 1);
    assert_int_equal(
        host_table_read_numbers(&ranks, json_object_get(left, "ranks"), RANKS - 1, RANKS), 0);
    for (int i = 1; i < RANKS; i++)
        assert_int_equal(ranks[i - 1], i);
    free(ranks);
    json_decref(left);
    fixture_stop(f);
}

static void test_who_is_let_in(void **state)
{
    struct fixture *f;
    const char *b;

    (void)state;
    fixture_relay(NULL);
    f = fixture_start(8, 0);
    b = f->agents[1].directory;
    expect_refused(f, b, 2, "the agent of this host expects no rank 2");
    expect_refused(f, b, 9, "the agent of this host expects no rank 9");
    fixture_choice.process_rank = 5;
    expect_refused(f, b, 1, "the process belongs to rank 5 and claims to be rank 1");
    f->ranks[5] = fixture_open_rank(f, 5, 1);
    fixture_choice.process_rank = -1; /* a daemon, whose rank cannot be seen */
    f->ranks[1] = fixture_open_rank(f, 1, 1);
    fixture_stop(f);
}

/* More than the agent keeps: it stops reading until the coordinator has taken some. */
static void test_much_at_once(void **state)
{
    struct fixture *f = relayed_start(4, 2);
    uint8_t *payload = calloc(1, 16 + LARGE);
    uint32_t word[4] = {0, htonl(1), htonl(1), htonl(LARGE)};
    struct shared_copy copy;
    struct frame got;
    struct fault why;

    (void)state;
    memcpy(payload, word, sizeof(word));
    send_blobs(f->ranks[0], 0, 1, 1, (const char *const[]){"x"});
    send_blobs(f->ranks[2], 0, 1, 1, (const char *const[]){"x"});
    for (int rank = 1; rank < 4; rank += 2)
        assert_int_equal(client_send(f->ranks[rank], COORD_EXCHANGE, payload, 16 + LARGE, &why), 0);
    for (int rank = 0; rank < 4; rank++) {
        next_frame(f->ranks[rank], &got);
        if (rank % 2 == 0) {
            assert_int_equal(got.type, COORD_EXCHANGED);
            assert_int_equal(got.size, 12 + 4 * 4 + 2 + 2 * LARGE);
        } else { /* on a host with an agent, whose ranks share one copy */
            assert_int_equal(got.type, COORD_EXCHANGED_COPY);
            memcpy(word, got.payload, sizeof(word[0]));
            assert_int_equal(shared_copy_map(&copy, f->agents[1].directory, ntohl(word[0]), &why),
                             0);
            assert_int_equal(copy.size, 12 + 4 * 4 + 2 + 2 * LARGE);
            shared_copy_unmap(&copy);
        }
    }
    free(payload);
    fixture_stop(f);
}

/* A rank sends what nobody takes: the agent stops reading, and does not keep it all. */
static void test_nobody_takes_it(void **state)
{
    static uint8_t bytes[65536];
    struct fixture *f;
    size_t taken = 0;
    int fd;

    (void)state;
    fixture_relay(NULL);
    fixture_choice.is_mute = true;
    f = fixture_start(2, 0);
    f->ranks[1] = fixture_open_rank(f, 1, 1);
    fd = client_fd(f->ranks[1]);
    frame_header(bytes, COORD_EXCHANGE, sizeof(bytes) - FRAME_HEADER);
    for (size_t at = 0; taken < 64 << 20; at = taken % sizeof(bytes)) {
        struct pollfd p = {.fd = fd, .events = POLLOUT};
        ssize_t n = send(fd, bytes + at, sizeof(bytes) - at, MSG_DONTWAIT | MSG_NOSIGNAL);

        if (n > 0)
            taken += (size_t)n;
        else if (poll(&p, 1, 500) == 0)
            break; /* nothing more is taken */
    }
    assert_in_range(taken, 2 << 20, 32 << 20);
    fixture_stop(f);
}

/* A rank that does not read is cut off, and the others get theirs. */
static void test_rank_does_not_read(void **state)
{
    uint8_t payload[16 + 3000] = {0};
    uint32_t word[4] = {0, 0, htonl(1), htonl(sizeof(payload) - 16)};
    struct frame got = {0};
    struct fixture *f;
    struct fault why;

    (void)state;
    fixture_choice.unread_most = 1 << 20;
    f = relayed_start(8, 4);
    for (uint32_t seq = 1; seq < 4000 && got.type != COORD_DEAD; seq++) {
        word[1] = htonl(seq);
        memcpy(payload, word, sizeof(word));
        for (int i = 0; i < 8; i++) /* fails for rank 5 once it is cut off */
            client_send(f->ranks[i], COORD_EXCHANGE, payload, sizeof(payload), &why);
        for (int i = 0; i < 8 && got.type != COORD_DEAD; i++) {
            if (i != 5)
                next_frame(f->ranks[i], &got);
        }
    }
    assert_int_equal(got.type, COORD_DEAD);
    assert_non_null(strstr((char *)got.payload, "rank 5 on host b"));
    expect_report(f, "the agent cut off rank 5 on host b: it does not read");
    fixture_stop(f);
}

static void test_lost_host(void **state)
{
    struct fixture *f = relayed_start(8, 4);

    (void)state;
    fixture_tell(f, "link 2");
    fixture_tell(f, "unlink"); /* the agent ends */
    expect_text(f->ranks[0], COORD_DEAD, "rank", 2, "rank 2 is gone: host c was lost");
    expect_text(f->ranks[0], COORD_DEAD, "rank", 6, "rank 6 is gone: host c was lost");
    expect_text(f->ranks[1], COORD_DEAD, "rank", 2, "rank 2 is gone: host c was lost");
    expect_closed(f->ranks[2]);
    expect_closed(f->ranks[6]);
    fixture_stop(f);
}

/* --- agents that talk nonsense ---------------------------------------------------------------- */

static int agent_connect(struct fixture *f, int host)
{
    struct auth_identity me = {.purpose = "agent", .rank = host};
    struct frame_reader *r;
    struct address to;
    struct fault why;
    int fd;

    assert_int_equal(frame_reader_create(&r, FRAME_LIMIT, &why), 0);
    assert_int_equal(address_parse(&to, f->address, &why), 0);
    assert_int_equal(address_connect(&to, clock_ms() + PATIENCE_MS, &fd, &why), 0);
    assert_int_equal(
        auth_connect(fd, r, "job", fixture_secret, &me, clock_ms() + PATIENCE_MS, &why), 0);
    frame_reader_destroy(r);
    return fd;
}

static void words_send(int fd, uint8_t type, size_t size, uint32_t a, uint32_t b, uint32_t c)
{
    uint32_t words[] = {htonl(a), htonl(b), htonl(c)};
    struct fault why;

    assert_int_equal(frame_send(fd, type, words, (uint32_t)size, -1, &why), 0);
}

static void test_bad_agents(void **state)
{
    static const struct {
        uint8_t type;
        size_t size;
        uint32_t a, b, c;
        const char *why;
    } bad[] = {
        {COORD_RANK_OPENED, 8, 0, 1, 1, "its RANK_OPENED is malformed"},
        {COORD_RANK_OPENED, 12, 0, 2, 1, "it speaks for rank 2, which is not on its host"},
        {COORD_RANK_OPENED, 12, 0, 77, 1, "it speaks for rank 77, which is not on its host"},
        {COORD_RANK_OPENED, 12, 7, 5, 1, "it opens a channel twice, or too many"},
        {COORD_RANK_SENT, 4, 7, 0, 0, "its RANK_SENT is malformed"},
        {COORD_RANK_CLOSED, 8, 7, 0, 0, "its RANK_CLOSED is malformed"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        struct fixture *f = fixture_start(8, 0);
        int fd = agent_connect(f, 1);
        char text[200];

        words_send(fd, COORD_RANK_OPENED, 12, 7, 1, 1);
        words_send(fd, COORD_RANK_CLOSED, 4, 99, 0, 0); /* no such channel: ignored */
        words_send(fd, COORD_RANK_SENT, 12, 99, 0, 0);
        words_send(fd, bad[i].type, bad[i].size, bad[i].a, bad[i].b, bad[i].c);
        snprintf(text, sizeof(text), "the coordinator cut off the agent of host b: %s", bad[i].why);
        expect_report(f, text);
        close(fd);
        fixture_stop(f);
    }
}

/* A rank's frame of a type that only agents send: the rank is cut off, not its agent. */
static void test_bad_rank(void **state)
{
    struct fixture *f = relayed_start(8, 4);
    struct fault why;

    (void)state;
    assert_int_equal(client_send(f->ranks[1], COORD_RANK_CLOSED, "\0\0\0\0", 4, &why), 0);
    expect_report(f, "the coordinator cut off rank 1 on host b");
    expect_closed(f->ranks[1]);
    expect_text(f->ranks[5], COORD_DEAD, "rank", 1, "rank 1 on host b");
    fixture_stop(f);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_one_message_a_host, choice_reset),
        cmocka_unit_test_teardown(test_all_leave, choice_reset),
        cmocka_unit_test_teardown(test_who_is_let_in, choice_reset),
        cmocka_unit_test_teardown(test_much_at_once, choice_reset),
        cmocka_unit_test_teardown(test_nobody_takes_it, choice_reset),
        cmocka_unit_test_teardown(test_rank_does_not_read, choice_reset),
        cmocka_unit_test_teardown(test_lost_host, choice_reset),
        cmocka_unit_test_teardown(test_bad_agents, choice_reset),
        cmocka_unit_test_teardown(test_bad_rank, choice_reset),
    };

    return cmocka_run_group_tests_name("host_relay", tests, NULL, NULL);
}

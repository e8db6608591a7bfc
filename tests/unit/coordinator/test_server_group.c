/* SPDX-License-Identifier: MIT */
/* test_server_group.c: what the members of a group do together: exchange, split, break, relay,
 * wait. */
#include "tests/unit/coordinator/fixture.h"

#include "common/net/shared_copy.h"
#include "coordinator/protocol.h"

#include <arpa/inet.h>
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

static void test_exchange(void **state)
{
    struct fixture *f = fixture_start_joined(3, 0);

    (void)state;
    for (int i = 0; i < 3; i++)
        send_blobs(f->ranks[i], 0, 1, 1, (const char *const[]){i == 1 ? "" : "x"});
    for (int i = 0; i < 3; i++)
        expect_blobs(f->ranks[i], 1, 3, "x,,x,");
    /* A blob for each member: rank i's blob for rank j is "ij". Rank 2 sends one for all. */
    send_blobs(f->ranks[0], 0, 2, 3, (const char *const[]){"00", "01", "02"});
    send_blobs(f->ranks[1], 0, 2, 3, (const char *const[]){"10", "1one", "12"});
    send_blobs(f->ranks[2], 0, 2, 1, (const char *const[]){"2"});
    expect_blobs(f->ranks[0], 2, 3, "00,10,2,");
    expect_blobs(f->ranks[1], 2, 3, "01,1one,2,");
    expect_blobs(f->ranks[2], 2, 3, "02,12,2,");
    fixture_stop(f);
}

static void test_exchange_of_many(void **state)
{
    struct fixture *f = fixture_start_joined(RANKS_MAX, 0);
    char expected[RANKS_MAX * 4 + 1] = "", blob[4];

    (void)state;
    for (int i = 0; i < RANKS_MAX; i++) {
        snprintf(blob, sizeof(blob), "%d", i);
        snprintf(expected + strlen(expected), sizeof(expected) - strlen(expected), "%d,", i);
        send_blobs(f->ranks[i], 0, 1, 1, (const char *const[]){blob});
    }
    for (int i = 0; i < RANKS_MAX; i++)
        expect_blobs(f->ranks[i], 1, RANKS_MAX, expected);
    fixture_stop(f);
}

static void test_large_exchange(void **state)
{
    struct fixture *f = fixture_start_joined(2, 0);
    uint32_t size = 3 << 20;
    uint8_t *payload = calloc(1, 16 + size);
    uint32_t word[4] = {0, htonl(1), htonl(1), htonl(size)};
    struct frame got;
    struct fault why;

    (void)state;
    memset(payload + 16, 'x', size);
    memcpy(payload, word, 16);
    for (int i = 0; i < 2; i++)
        assert_int_equal(client_send(f->ranks[i], COORD_EXCHANGE, payload, 16 + size, &why), 0);
    for (int i = 0; i < 2; i++) {
        next_frame(f->ranks[i], &got);
        assert_int_equal(got.type, COORD_EXCHANGED);
        assert_int_equal(got.size, 12 + 2 * (4 + size));
        assert_memory_equal(got.payload + 16, payload + 16, size);
    }
    free(payload);
    fixture_stop(f);
}

/* Ranks of this host that are told of a copy find the answer there. */
static void test_shared_exchange(void **state)
{
    enum { SIZE = 40000 };
    struct fixture *f;
    uint8_t payload[16 + SIZE] = {0};
    uint32_t word[4] = {0, htonl(1), htonl(1), htonl(SIZE)};
    struct shared_copy copy;
    struct frame got;
    struct fault why;
    char dir[64];

    (void)state;
    snprintf(dir, sizeof(dir), "/nowhere/exchange%d", (int)getpid());
    fixture_choice.directory = dir;
    f = fixture_start_joined(2, 0);
    fixture_choice.directory = NULL;
    memset(payload + 16, 'x', SIZE);
    memcpy(payload, word, 16);
    for (int i = 0; i < 2; i++)
        assert_int_equal(client_send(f->ranks[i], COORD_EXCHANGE, payload, 16 + SIZE, &why), 0);
    for (int i = 0; i < 2; i++) {
        next_frame(f->ranks[i], &got);
        assert_int_equal(got.type, COORD_EXCHANGED_COPY);
        assert_int_equal(got.size, sizeof(word[0]));
        memcpy(word, got.payload, sizeof(word[0]));
        assert_int_equal(shared_copy_map(&copy, dir, ntohl(word[0]), &why), 0);
        assert_int_equal(copy.size, 12 + 2 * (4 + SIZE));
        assert_memory_equal(copy.bytes + 16, payload + 16, SIZE);
        shared_copy_unmap(&copy);
    }
    assert_int_equal(shared_copy_map(&copy, dir, ntohl(word[0]), &why), ML_ERR_SYSTEM);
    fixture_stop(f);
}

static void test_exchange_with_the_dead(void **state)
{
    struct fixture *f = fixture_start_joined(3, 0);

    (void)state;
    send_blobs(f->ranks[0], 0, 1, 1, (const char *const[]){"x"});
    fixture_close_rank(f, 2);
    /* A member that waits is told, and one that comes later. */
    expect_text(f->ranks[0], COORD_DEAD, "rank", 2, "rank 2 on host c");
    expect_text(f->ranks[0], COORD_BROKEN, "code", ML_ERR_PEER, "rank 2 on host c");
    expect_text(f->ranks[1], COORD_DEAD, "rank", 2, "rank 2 on host c");
    send_blobs(f->ranks[1], 0, 1, 1, (const char *const[]){"x"});
    expect_text(f->ranks[1], COORD_BROKEN, "code", ML_ERR_PEER, "rank 2 on host c");
    fixture_stop(f);
}

static void split(struct fixture *f, int rank, int group, int color, int key)
{
    f->split_group = group;
    send_text(f->ranks[rank], COORD_SPLIT,
              "{\"group\": %d, \"seq\": 4, \"color\": %d, \"key\": %d}", group, color, key);
}

static json_int_t expect_split(struct fixture *f, int rank, const char *expected)
{
    json_t *message = expect_frame(f->ranks[rank], COORD_SPLITTED);
    json_int_t group = json_integer_value(json_object_get(message, "group"));
    char *members = json_dumps(json_object_get(message, "members"), JSON_COMPACT);

    assert_string_equal(members, expected);
    assert_int_equal(json_integer_value(json_object_get(message, "seq")), 4);
    assert_int_equal(json_integer_value(json_object_get(message, "parent")), f->split_group);
    free(members);
    json_decref(message);
    return group;
}

static void test_split(void **state)
{
    struct fixture *f = fixture_start_joined(5, 0);
    json_int_t even, odd;

    (void)state;
    split(f, 0, 0, 2, -1);
    split(f, 1, 0, 1, 9);
    split(f, 2, 0, 2, -5);
    split(f, 3, 0, 1, 9);
    split(f, 4, 0, -1, 0);
    even = expect_split(f, 0, "[2,0]");
    odd = expect_split(f, 1, "[1,3]");
    assert_int_equal(expect_split(f, 2, "[2,0]"), even);
    assert_int_equal(expect_split(f, 3, "[1,3]"), odd);
    assert_int_equal(expect_split(f, 4, "[]"), -1);
    assert_true(even > 0 && odd > 0 && even != odd);
    /* The new groups work independently, each in its own order. */
    send_blobs(f->ranks[0], (uint32_t)even, 1, 2, (const char *const[]){"to 2", "to 0"});
    send_blobs(f->ranks[2], (uint32_t)even, 1, 1, (const char *const[]){"two"});
    expect_blobs(f->ranks[2], 1, 2, "two,to 2,");
    expect_blobs(f->ranks[0], 1, 2, "two,to 0,");
    /* Both members free a group; the other group continues. */
    send_text(f->ranks[1], COORD_FREE, "{\"group\": %d}", (int)odd);
    send_text(f->ranks[3], COORD_FREE, "{\"group\": %d}", (int)odd);
    split(f, 0, (int)even, 0, 0);
    split(f, 2, (int)even, 0, 0);
    assert_true(expect_split(f, 0, "[2,0]") != even);
    fixture_stop(f);
}

static void test_break(void **state)
{
    struct fixture *f = fixture_start_joined(3, 0);

    (void)state;
    send_text(f->ranks[1], COORD_BREAK, "{\"group\": 0, \"code\": -4, \"text\": \"first\"}");
    for (int i = 0; i < 3; i++)
        expect_text(f->ranks[i], COORD_BROKEN, "code", -4, "first");
    /* The first reason is kept. */
    send_text(f->ranks[0], COORD_BREAK, "{\"group\": 0, \"code\": -5, \"text\": \"second\"}");
    expect_text(f->ranks[0], COORD_BROKEN, "code", -4, "first");
    split(f, 2, 0, 0, 0);
    expect_text(f->ranks[2], COORD_BROKEN, "code", -4, "first");
    fixture_stop(f);
}

/* A member that has heard of a death may have removed what another one looks for just then: that
 * one's failure comes of the death, too. */
static void test_break_after_a_death(void **state)
{
    struct fixture *f = fixture_start_joined(3, 0);

    (void)state;
    fixture_tell(f, "exited 1 1001 was killed by signal 9 (Killed) on host b (pid 1001)");
    fixture_close_rank(f, 1);
    for (int i = 0; i < 3; i += 2)
        expect_text(f->ranks[i], COORD_DEAD, "rank", 1, "rank 1 was killed");
    send_text(f->ranks[0], COORD_BREAK, "{\"group\": 0, \"code\": -10, \"text\": \"no FIFO\"}");
    for (int i = 0; i < 3; i += 2)
        expect_text(f->ranks[i], COORD_BROKEN, "code", ML_ERR_PEER, "rank 1 was killed");
    fixture_stop(f);
}

static void test_relay(void **state)
{
    struct fixture *f = fixture_start_joined(3, 0);
    json_t *message, *word;

    (void)state;
    send_text(f->ranks[1], COORD_RELAY, "{\"group\": 0, \"to\": 2, \"word\": {\"rail\": 3}}");
    message = expect_frame(f->ranks[2], COORD_RELAYED);
    word = json_object_get(message, "word");
    assert_int_equal(json_integer_value(json_object_get(message, "group")), 0);
    assert_int_equal(json_integer_value(json_object_get(message, "from")), 1);
    assert_int_equal(json_integer_value(json_object_get(word, "rail")), 3);
    json_decref(message);
    /* To a rank that has left: it is dropped, and the sender is not blamed. */
    send_text(f->ranks[2], COORD_LEAVE, "{}");
    expect_left(f->ranks[1], 2);
    send_text(f->ranks[1], COORD_RELAY, "{\"group\": 0, \"to\": 2, \"word\": {}}");
    send_text(f->ranks[1], COORD_RELAY, "{\"group\": 0, \"to\": 1, \"word\": {}}");
    json_decref(expect_frame(f->ranks[1], COORD_RELAYED));
    send_text(f->ranks[1], COORD_RELAY, "{\"group\": 0, \"to\": 3, \"word\": {}}");
    expect_report(f, "refused the coordinator cut off rank 1 on host b: its RELAY is malformed");
    send_text(f->ranks[0], COORD_RELAY, "{\"group\": 7, \"to\": 0, \"word\": {}}");
    expect_report(
        f, "refused the coordinator cut off rank 0 on host a: its RELAY names a group that it is "
           "not in");
    fixture_stop(f);
}

static void wait_in(struct fixture *f, int rank, int seq, const char *call, const char *signature,
                    const char *peers)
{
    send_text(
        f->ranks[rank], COORD_WAITING,
        "{\"group\": 0, \"seq\": %d, \"call\": \"%s\", \"signature\": \"%s\", \"peers\": [%s]}",
        seq, call, signature, peers);
}

static void test_mismatch(void **state)
{
    struct fixture *f = fixture_start_joined(3, 0);

    (void)state;
    wait_in(f, 0, 5, "barrier", "barrier()", "");
    wait_in(f, 1, 6, "all_reduce", "all_reduce(3 x float32, sum)", "");
    wait_in(f, 2, 6, "all_gather", "all_gather(12 bytes)", "");
    for (int i = 0; i < 3; i++)
        expect_text(f->ranks[i], COORD_BROKEN, "code", ML_ERR_MISMATCH,
                    "rank 1 on host b is in all_reduce(3 x float32, sum), rank 2 on host c in "
                    "all_gather(12 bytes) (call 6 of the world group)");
    fixture_stop(f);
}

/* As wait_in, with a type of what the call moves. */
static void wait_in_typed(struct fixture *f, int rank, int seq, const char *call, const char *type)
{
    send_text(f->ranks[rank], COORD_WAITING,
              "{\"group\": 0, \"seq\": %d, \"call\": \"%s\", \"signature\": \"%s (%s)\", "
              "\"untyped\": \"%s\", \"peers\": []}",
              seq, call, call, type, call);
}

/* A type of which one rank says nothing fits; two that differ don't. */
static void test_types(void **state)
{
    struct fixture *f = fixture_start_joined(4, 0);

    (void)state;
    wait_in_typed(f, 0, 1, "all_gather of 16 bytes", "float64");
    wait_in(f, 1, 1, "all_gather", "all_gather of 16 bytes", "");
    wait_in_typed(f, 2, 1, "all_gather of 16 bytes", "float64");
    for (int i = 0; i < 3; i++)
        send_text(f->ranks[i], COORD_MOVING, "{\"group\": 0}");
    wait_in(f, 0, 2, "all_gather", "all_gather of 16 bytes", "");
    wait_in_typed(f, 1, 2, "all_gather of 16 bytes", "float64");
    wait_in(f, 2, 2, "all_gather", "all_gather of 16 bytes", "");
    wait_in_typed(f, 3, 2, "all_gather of 16 bytes", "int64");
    for (int i = 0; i < 4; i++)
        expect_text(f->ranks[i], COORD_BROKEN, "code", ML_ERR_MISMATCH,
                    "rank 1 on host b is in all_gather of 16 bytes (float64), rank 3 on host d in "
                    "all_gather of 16 bytes (int64) (call 2 of the world group)");
    fixture_stop(f);
}

static void test_stall(void **state)
{
    struct fixture *f =
        fixture_start_joined(4, 1500); /* 1 s after the first WAITING: all have come by then */

    (void)state;
    for (int i = 0; i < 3; i++)
        wait_in(f, i, 17, "all_reduce", "all_reduce(3 x float32, sum)", "");
    expect_report(
        f, "stall rank 3 on host d has not come to all_reduce (call 17 of the world group); ranks "
           "0-2 have waited 1 s for it");
    /* Each stall is reported once. A new one, in which rank 2 waits for another rank, is reported
     * again. */
    for (int i = 0; i < 3; i++)
        send_text(f->ranks[i], COORD_MOVING, "{\"group\": 0}");
    send_text(f->ranks[2], COORD_WAITING,
              "{\"group\": 0, \"seq\": 0, \"call\": \"recv\", \"signature\": \"recv(8 bytes)\", "
              "\"place\": \"x.py:7\", \"peers\": [3]}");
    expect_report(
        f, "stall rank 2 on host c has waited 1 s in recv at x.py:7 for rank 3 on host d (the "
           "world group)");
    wait_in(f, 0, 18, "broadcast", "broadcast", "2");
    expect_report(
        f, "stall rank 2 on host c has not come to broadcast (call 18 of the world group); rank 0 "
           "has waited 1 s for it; it is itself waiting in recv at x.py:7 for rank 3");
    expect_no_report(f);
    /* When the job is ended because it takes too long, all are told once more. */
    fixture_tell(f, "waits");
    expect_report(f, "stall rank 2 on host c has not come to broadcast (call 18 of the world");
    expect_report(f, "stall rank 2 on host c has waited ");
    expect_no_report(f);
    fixture_stop(f);
}

static void test_stall_of_window(void **state)
{
    struct fixture *f = fixture_start_joined(2, 700);
    json_int_t group;

    (void)state;
    for (int i = 0; i < 2; i++)
        split(f, i, 0, 0, 0);
    group = expect_split(f, 0, "[0,1]");
    expect_split(f, 1, "[0,1]");
    send_text(f->ranks[0], COORD_WAITING,
              "{\"group\": %d, \"window\": true, \"seq\": 1, \"call\": \"window_free\", "
              "\"signature\": \"window_free\", \"peers\": [1]}",
              (int)group);
    expect_report(f, "stall rank 1 on host b has not come to window_free (call 1 of window 1); "
                     "rank 0 has waited 0 s for it");
    expect_no_report(f);
    fixture_stop(f);
}

/* A rank that is in ml_init or makes a group, and does not go on. */
static void test_stall_in_meeting(void **state)
{
    struct fixture *f = fixture_start_joined(3, 300);

    (void)state;
    for (int i = 0; i < 2; i++)
        send_blobs(f->ranks[i], 0, 1, 1, (const char *const[]){"x"});
    expect_report(f, "stall rank 2 on host c has not met the others in ml_init (the world group); "
                     "ranks 0,1 have waited 0 s for it");
    expect_no_report(f);
    send_blobs(f->ranks[2], 0, 1, 1, (const char *const[]){"x"});
    for (int i = 0; i < 3; i++)
        expect_blobs(f->ranks[i], 1, 3, "x,x,x,");
    split(f, 1, 0, 1, 0);
    expect_report(f, "stall rank 0 on host a and rank 2 on host c have not met the others in "
                     "ml_split, ml_group_create or ml_window_create (the world group); rank 1 has "
                     "waited 0 s for them");
    expect_no_report(f);
    fixture_stop(f);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST_BOTH(test_exchange),
        TEST_BOTH(test_exchange_of_many),
        cmocka_unit_test(test_shared_exchange),
        TEST_BOTH(test_large_exchange),
        TEST_BOTH(test_exchange_with_the_dead),
        TEST_BOTH(test_split),
        TEST_BOTH(test_break),
        TEST_BOTH(test_break_after_a_death),
        TEST_BOTH(test_relay),
        TEST_BOTH(test_mismatch),
        TEST_BOTH(test_types),
        TEST_BOTH(test_stall),
        TEST_BOTH(test_stall_in_meeting),
        TEST_BOTH(test_stall_of_window),
    };

    return cmocka_run_group_tests_name("server_group", tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* test_membership.c: who is a member after REPAIR, who is waited for, and what the ranks that live
 * agree on. */
#include "tests/unit/coordinator/fixture.h"

#include "common/clock.h"
#include "common/net/host_table.h"
#include "coordinator/protocol.h"

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

static void repair_within(struct fixture *f, int rank, int timeout_ms)
{
    send_text(f->ranks[rank], COORD_REPAIR, "{\"pid\": %d, \"timeout_ms\": %d, \"groups\": 0}",
              HOST_PID + rank, timeout_ms);
}

static void repair(struct fixture *f, int rank)
{
    repair_within(f, rank, PATIENCE_MS);
}

static void expect_rank(struct fixture *f, int rank, uint8_t type, int expected)
{
    json_t *message = expect_frame(f->ranks[rank], type);

    assert_int_equal(json_integer_value(json_object_get(message, "rank")), expected);
    json_decref(message);
}

/* What REPAIRED says, with these members, such as "0 2"; releases it. */
static void check_repaired(const struct fixture *f, json_t *message, int membership, int group,
                           const char *expected)
{
    json_t *list;
    json_int_t got_membership, got_group;
    int *members, count;
    char text[256] = "";

    assert_int_equal(json_unpack(message, "{s:I, s:I, s:i, s:o}", "membership", &got_membership,
                                 "group", &got_group, "count", &count, "members", &list),
                     0);
    assert_int_equal(got_membership, membership);
    assert_int_equal(got_group, group);
    assert_int_equal(host_table_read_numbers(&members, list, count, f->size), 0);
    for (int i = 0; i < count; i++)
        snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%d", i > 0 ? " " : "",
                 members[i]);
    assert_string_equal(text, expected);
    free(members);
    json_decref(message);
}

/* It is the next that the rank gets. */
static void expect_repaired(struct fixture *f, int rank, int membership, int group,
                            const char *members)
{
    check_repaired(f, expect_frame(f->ranks[rank], COORD_REPAIRED), membership, group, members);
}

static void expect_broken(struct fixture *f, int rank, const char *text)
{
    expect_text(f->ranks[rank], COORD_BROKEN, "code", ML_ERR_PEER, text);
}

static void expect_dead(struct fixture *f, int rank, int dead)
{
    expect_text(f->ranks[rank], COORD_DEAD, "rank", dead, "");
}

/* The rank sends all that can name a group, of that group of an earlier membership. It comes too
 * late, and only those that wait for an answer get one. */
static void speak_of_past(struct fixture *f, int rank, int group)
{
    struct client *c = f->ranks[rank];

    send_blobs(c, (uint32_t)group, 1, 1, (const char *const[]){"late"});
    send_text(c, COORD_SPLIT, "{\"group\": %d, \"seq\": 1, \"color\": 0, \"key\": 0}", group);
    send_text(c, COORD_BREAK, "{\"group\": %d, \"code\": -5, \"text\": \"late\"}", group);
    send_text(c, COORD_WAITING, "{\"group\": %d, \"seq\": 1, \"call\": \"late\"}", group);
    send_text(c, COORD_MOVING, "{\"group\": %d}", group);
    send_text(c, COORD_FREE, "{\"group\": %d}", group);
    send_text(c, COORD_RELAY, "{\"group\": %d, \"to\": 0, \"word\": {}}", group);
    send_text(c, COORD_AGREE, "{\"group\": %d, \"value\": 1}", group);
    expect_text(c, COORD_AGREED, "code", ML_ERR_PEER, "the group is of an earlier membership");
    send_text(c, COORD_CREATE,
              "{\"group\": %d, \"tag\": 0, \"timeout_ms\": 20000, \"count\": 1, \"ranks\": [%d]}",
              group, rank);
    expect_text(c, COORD_CREATED, "code", ML_ERR_PEER, "the group is of an earlier membership");
}

static void test_death(void **state)
{
    struct fixture *f = fixture_start_joined(3, 0);

    (void)state;
    fixture_close_rank(f, 1);
    for (int i = 0; i < 3; i += 2)
        expect_dead(f, i, 1);
    repair(f, 0);
    for (int i = 0; i < 3; i += 2)
        expect_broken(f, i, "rank 1 on host b");
    repair(f, 2);
    for (int i = 0; i < 3; i += 2)
        expect_repaired(f, i, 1, 1, "0 2");
    expect_report(f, "repaired 1: 0 2");
    speak_of_past(f, 0, 0);
    for (int i = 0; i < 3; i += 2)
        send_blobs(f->ranks[i], 1, 1, 1, (const char *const[]){i ? "two" : "zero"});
    for (int i = 0; i < 3; i += 2)
        expect_blobs(f->ranks[i], 1, 2, "zero,two,");
    expect_no_report(f);
    fixture_stop(f);
}

/* The first REPAIR ends the calls of those that do not know yet. */
static void test_nobody_died(void **state)
{
    struct fixture *f = fixture_start_joined(2, 0);

    (void)state;
    for (int membership = 1; membership < 4; membership++) {
        repair(f, 1);
        for (int i = 0; i < 2; i++)
            expect_broken(f, i, "rank 1 on host b has called ml_repair: ");
        repair(f, 0);
        for (int i = 0; i < 2; i++)
            expect_repaired(f, i, membership, membership, "0 1");
        expect_report(f, "repaired");
    }
    fixture_stop(f);
}

static void test_groups_of_before(void **state)
{
    struct fixture *f = fixture_start_joined(2, 0);

    (void)state;
    for (int i = 0; i < 2; i++)
        send_text(f->ranks[i], COORD_REPAIR, "{\"pid\": 1, \"timeout_ms\": 20000, \"groups\": %d}",
                  5 + i);
    for (int i = 0; i < 2; i++) {
        expect_broken(f, i, "has called ml_repair");
        expect_repaired(f, i, 1, 6, "0 1"); /* no number is used again */
    }
    fixture_stop(f);
}

static void test_death_meanwhile(void **state)
{
    struct fixture *f = fixture_start_joined(4, 0);

    (void)state;
    repair(f, 0);
    repair(f, 1);
    for (int i = 0; i < 4; i++)
        expect_broken(f, i, "has called ml_repair");
    fixture_close_rank(f, 1); /* it waits */
    for (int i = 0; i < 4; i++)
        if (i != 1)
            expect_dead(f, i, 1);
    repair(f, 3);
    fixture_close_rank(f, 2); /* it was waited for */
    for (int i = 0; i < 4; i += 3) {
        expect_dead(f, i, 2);
        expect_repaired(f, i, 1, 1, "0 3");
    }
    expect_report(f, "repaired 1: 0 3");
    fixture_stop(f);
}

static void test_one_leaves(void **state)
{
    struct fixture *f = fixture_start_joined(3, 0);

    (void)state;
    repair(f, 0);
    repair(f, 1);
    for (int i = 0; i < 3; i++)
        expect_broken(f, i, "has called ml_repair");
    send_text(f->ranks[2], COORD_LEAVE, "{}");
    expect_left(f->ranks[2], 2);
    for (int i = 0; i < 2; i++)
        expect_repaired(f, i, 1, 1, "0 1");
    fixture_stop(f);
}

static void test_lost_host(void **state)
{
    struct fixture *f = fixture_start_joined(3, 0);

    (void)state;
    fixture_tell(f, "gone 1");
    expect_text(f->ranks[0], COORD_DEAD, "rank", 1, "rank 1 is gone: host b was lost");
    expect_text(f->ranks[2], COORD_DEAD, "rank", 1, "rank 1 is gone: host b was lost");
    fixture_tell(f, "gone 1"); /* nothing new */
    fixture_tell(f, "gone %d", FIXTURE_HOSTS);
    repair(f, 2);
    repair(f, 0);
    for (int i = 0; i < 3; i += 2) {
        expect_broken(f, i, "host b was lost");
        expect_repaired(f, i, 1, 1, "0 2");
    }
    fixture_stop(f);
}

static void test_timeout(void **state)
{
    struct fixture *f = fixture_start_joined(3, 0);

    (void)state;
    repair_within(f, 0, 0);
    for (int i = 0; i < 3; i++)
        expect_broken(f, i, "rank 0 on host a has called ml_repair");
    expect_text(f->ranks[0], COORD_FAILED, "code", ML_ERR_TIMEOUT,
                "rank 1 on host b and rank 2 on host c have not called ml_repair in time");
    repair(f, 1);
    fixture_close_rank(f, 2);
    expect_dead(f, 0, 2);
    expect_dead(f, 1, 2);
    repair(f, 0);
    for (int i = 0; i < 2; i++)
        expect_repaired(f, i, 1, 1, "0 1");
    fixture_stop(f);
}

static void test_pause(void **state)
{
    struct fixture *f = fixture_start_joined(2, 0);

    (void)state;
    fixture_tell(f, "pause");
    expect_report(f, "paused");
    repair_within(f, 0, 0);
    for (int i = 0; i < 2; i++)
        expect_broken(f, i, "rank 0 on host a has called ml_repair");
    repair_within(f, 1, 0);
    for (int i = 0; i < 2; i++)
        expect_repaired(f, i, 1, 1, "0 1");
    fixture_stop(f);
}

/* What waits is reported so, once the coordinator has read all that ranks have sent. */
static void expect_waits(struct fixture *f, const char *expected)
{
    const int64_t end_ms = clock_ms() + PATIENCE_MS;
    char line[1024];
    ssize_t n;

    do {
        fixture_tell(f, "waits");
        n = recv(f->control[0], line, sizeof(line) - 1, 0);
        assert_true(n > 0);
        line[n] = '\0';
    } while (!strstr(line, expected) && clock_ms() < end_ms);
    assert_non_null(strstr(line, expected));
}

static void test_stall(void **state)
{
    struct fixture *f = fixture_start_joined(3, PATIENCE_MS);

    (void)state;
    repair(f, 0);
    repair(f, 2);
    for (int i = 0; i < 3; i++)
        expect_broken(f, i, "has called ml_repair");
    expect_waits(f, "stall rank 1 on host b has not called ml_repair; ranks 0,2 have waited 0 s");
    repair(f, 1);
    for (int i = 0; i < 3; i++)
        expect_repaired(f, i, 1, 1, "0 1 2");
    expect_report(f, "repaired 1: 0 1 2");
    fixture_tell(f, "waits");
    for (int i = 0; i < 3; i++)
        send_blobs(f->ranks[i], 1, 1, 1, (const char *const[]){"x"});
    fixture_stop(f);
}

/* The rank sends that, is cut off, and the other one goes on without it. */
static void refused(const char *report, uint8_t type, const char *first, const char *second)
{
    struct fixture *f = fixture_start_joined(2, 0);

    send_text(f->ranks[1], type, "%s", first);
    if (second)
        send_text(f->ranks[1], type, "%s", second);
    expect_report(f, report);
    repair(f, 0);
    expect_report(f, "repaired 1: 0");
    fixture_stop(f);
}

static void test_refused(void **state)
{
    static const char repair_report[] =
        "cut off rank 1 on host b: its REPAIR is malformed or came twice";
    static const char good[] = "{\"pid\": 1, \"timeout_ms\": 20000, \"groups\": 0}";

    (void)state;
    refused(repair_report, COORD_REPAIR, good, good);
    refused(repair_report, COORD_REPAIR, "{\"pid\": 1, \"timeout_ms\": -1, \"groups\": 0}", NULL);
    refused(repair_report, COORD_REPAIR, "{\"pid\": 1, \"timeout_ms\": 2147483648, \"groups\": 0}",
            NULL);
    refused(repair_report, COORD_REPAIR, "{\"pid\": 1, \"timeout_ms\": 1, \"groups\": -1}", NULL);
    refused(repair_report, COORD_REPAIR, "{\"pid\": 1, \"timeout_ms\": 1, \"groups\": 2147483648}",
            NULL);
    refused(repair_report, COORD_REPAIR, "{}", NULL);
    refused("cut off rank 1 on host b: its AGREE is malformed or came twice", COORD_AGREE,
            "{\"group\": 0}", NULL);
    refused("cut off rank 1 on host b: its AGREE is malformed or came twice", COORD_AGREE,
            "{\"group\": 0, \"value\": 1}", "{\"group\": 0, \"value\": 1}");
}

/* --- newcomers -------------------------------------------------------------------------------- */

/* Ranks, of which dead ones may be replaced; ml_repair waits so long. */
static struct fixture *start_replacing(int size, int replace_ms)
{
    struct fixture *f;

    fixture_choice.replaces = true;
    fixture_choice.replace_ms = replace_ms;
    f = fixture_start_joined(size, 0);
    fixture_choice.replaces = false;
    return f;
}

/* A process comes to take the place of the rank: the number-th that does. */
static void come(struct fixture *f, int rank, int number)
{
    f->ranks[rank] = fixture_open_rank(f, rank, 7);
    send_text(f->ranks[rank], COORD_JOIN, "{\"pid\": %d, \"timeout_ms\": 20000, \"replaces\": %d}",
              HOST_PID + 100 + rank, number);
}

static void expect_comes(struct fixture *f, int rank, int newcomer)
{
    expect_rank(f, rank, COORD_COMES, newcomer);
}

static void expect_awaits(struct fixture *f, int rank)
{
    json_decref(expect_frame(f->ranks[rank], COORD_AWAITS));
}

/* The newcomer learns what the others learned in ml_init, and becomes a member. */
static void expect_welcome(struct fixture *f, int rank, int membership, const char *members)
{
    json_t *message = expect_frame(f->ranks[rank], COORD_WELCOME);

    assert_int_equal(json_integer_value(json_object_get(message, "size")), f->size);
    assert_int_equal(json_integer_value(json_object_get(message, "generation")), 1);
    json_decref(message);
    expect_repaired(f, rank, membership, membership, members);
}

/* Rank 1 of three dies, and the others repair. */
static struct fixture *start_without_one(int replace_ms)
{
    struct fixture *f = start_replacing(3, replace_ms);

    fixture_close_rank(f, 1);
    for (int i = 0; i < 3; i += 2)
        expect_dead(f, i, 1);
    repair(f, 0);
    for (int i = 0; i < 3; i += 2)
        expect_broken(f, i, "rank 1 on host b");
    repair(f, 2);
    return f;
}

/* Rank 1's place is on another host. */
static void test_host_is_renamed(void **state)
{
    struct fixture *f = start_without_one(PATIENCE_MS);
    json_t *message;
    const char **names;

    (void)state;
    for (int i = 0; i < 3; i += 2)
        expect_awaits(f, i);
    fixture_tell(f, "rename 1 0 spare");
    come(f, 1, 1);
    for (int i = 0; i < 3; i += 2)
        expect_comes(f, i, 1);
    message = expect_frame(f->ranks[2], COORD_REPAIRED);
    assert_int_equal(
        host_table_read_texts(&names, json_object_get(message, "names"), FIXTURE_HOSTS), 0);
    assert_string_equal(names[0], "a");
    assert_string_equal(names[1], "spare");
    free(names);
    json_decref(message);
    fixture_stop(f);
}

/* The job gets a host and a rank there; both are in what the others are told. */
static void test_host_is_added(void **state)
{
    struct fixture *f = fixture_start_joined(3, 0);
    json_t *message;
    const char **names;
    int *host_of;

    (void)state;
    fixture_tell(f, "rename %d 0 further", FIXTURE_HOSTS + 1); /* it would not be the next one */
    fixture_tell(f, "rename %d 0 new", FIXTURE_HOSTS);
    fixture_tell(f, "grow %d 0", FIXTURE_HOSTS + 1);
    fixture_tell(f, "grow %d 0", FIXTURE_HOSTS);
    fixture_tell(f, "leaves 1"); /* all of this is done once the others hear of it */
    for (int i = 0; i < 3; i += 2)
        expect_text(f->ranks[i], COORD_DEAD, "rank", 1, "(mlaunch shrink)");
    for (int i = 0; i < 3; i += 2)
        repair(f, i);
    expect_broken(f, 2, "rank 1 is gone");
    message = expect_frame(f->ranks[2], COORD_REPAIRED);
    assert_int_equal(json_integer_value(json_object_get(message, "hosts")), FIXTURE_HOSTS + 1);
    assert_int_equal(
        host_table_read_texts(&names, json_object_get(message, "names"), FIXTURE_HOSTS + 1), 0);
    assert_string_equal(names[FIXTURE_HOSTS], "new");
    assert_int_equal(json_integer_value(json_object_get(message, "size")), 4);
    assert_int_equal(host_table_read_numbers(&host_of, json_object_get(message, "host_of"), 4,
                                             FIXTURE_HOSTS + 1),
                     0);
    assert_int_equal(host_of[3], FIXTURE_HOSTS);
    free(names);
    free(host_of);
    json_decref(message);
    fixture_stop(f);
}

static void test_newcomer_is_awaited(void **state)
{
    struct fixture *f = start_without_one(PATIENCE_MS);

    (void)state;
    for (int i = 0; i < 3; i += 2)
        expect_awaits(f, i);
    come(f, 1, 1);
    for (int i = 0; i < 3; i += 2) {
        expect_comes(f, i, 1);
        expect_repaired(f, i, 1, 1, "0 1 2");
    }
    expect_welcome(f, 1, 1, "0 1 2");
    expect_report(f, "repaired 1: 0 1 2");
    for (int i = 0; i < 3; i++)
        send_blobs(f->ranks[i], 1, 1, 1, (const char *const[]){"x"});
    for (int i = 0; i < 3; i++)
        expect_blobs(f->ranks[i], 1, 3, "x,x,x,");
    /* What it says is of the others' generation, not of that which it said when it came. */
    send_text(f->ranks[1], COORD_UNREACHED,
              "{\"rank\": 2, \"generation\": 1, \"membership\": 1, \"text\": \"far\"}");
    expect_report(f, "unreached 1 2 of 1.1 far");
    /* It is a member as the others are, and may die as they do, also before its end is known. */
    fixture_close_rank(f, 1);
    for (int i = 0; i < 3; i += 2)
        expect_dead(f, i, 1);
    fixture_stop(f);
}

static void test_newcomer_is_early(void **state)
{
    struct fixture *f = start_replacing(3, PATIENCE_MS);

    (void)state;
    fixture_close_rank(f, 1);
    for (int i = 0; i < 3; i += 2)
        expect_dead(f, i, 1);
    come(f, 1, 1);
    for (int i = 0; i < 3; i += 2)
        expect_comes(f, i, 1);
    repair(f, 2);
    for (int i = 0; i < 3; i += 2)
        expect_broken(f, i, "rank 1 on host b");
    repair(f, 0);
    for (int i = 0; i < 3; i += 2)
        expect_repaired(f, i, 1, 1, "0 1 2");
    expect_welcome(f, 1, 1, "0 1 2");
    fixture_stop(f);
}

static void test_newcomer_is_late(void **state)
{
    struct fixture *f = start_without_one(1);

    (void)state;
    for (int i = 0; i < 3; i += 2) {
        expect_awaits(f, i);
        expect_repaired(f, i, 1, 1, "0 2");
    }
    come(f, 1, 1);
    for (int i = 0; i < 3; i += 2)
        expect_comes(f, i, 1);
    repair(f, 0);
    for (int i = 0; i < 3; i += 2)
        expect_broken(f, i, "has called ml_repair");
    repair(f, 2);
    for (int i = 0; i < 3; i += 2)
        expect_repaired(f, i, 2, 2, "0 1 2");
    expect_welcome(f, 1, 2, "0 1 2");
    fixture_stop(f);
}

static void test_nobody_comes(void **state)
{
    struct fixture *f = start_without_one(PATIENCE_MS);

    (void)state;
    for (int i = 0; i < 3; i += 2)
        expect_awaits(f, i);
    fixture_tell(f, "vacant 1");
    for (int i = 0; i < 3; i += 2)
        expect_repaired(f, i, 1, 1, "0 2");
    fixture_tell(f, "vacant 3"); /* there is no such rank */
    /* With no time to wait, those that live go on at once. */
    fixture_stop(f);
    f = start_without_one(0);
    for (int i = 0; i < 3; i += 2)
        expect_repaired(f, i, 1, 1, "0 2");
    fixture_stop(f);
}

/* The newcomer dies while it waits, and so does its successor's neighbour. */
static void test_newcomer_dies(void **state)
{
    struct fixture *f = start_replacing(4, PATIENCE_MS);

    (void)state;
    fixture_close_rank(f, 1);
    for (int i = 0; i < 4; i++)
        if (i != 1)
            expect_dead(f, i, 1);
    repair(f, 0);
    for (int i = 0; i < 4; i++)
        if (i != 1)
            expect_broken(f, i, "rank 1");
    come(f, 1, 1);
    for (int i = 0; i < 4; i++)
        if (i != 1)
            expect_comes(f, i, 1);
    send_text(f->ranks[1], COORD_REPAIR, "{}"); /* it is no member */
    expect_report(f, "cut off rank 1 on host b");
    fixture_close_rank(f, 1);
    repair(f, 2);
    repair(f, 3);
    for (int i = 0; i < 4; i++)
        if (i != 1)
            expect_awaits(f, i);
    fixture_close_rank(f, 3); /* a member, in the midst of the wait */
    for (int i = 0; i < 3; i += 2) {
        expect_dead(f, i, 3);
        expect_awaits(f, i);
    }
    come(f, 3, 1);
    for (int i = 0; i < 3; i += 2)
        expect_comes(f, i, 3);
    come(f, 1, 2);
    for (int i = 0; i < 3; i += 2) {
        expect_comes(f, i, 1);
        expect_repaired(f, i, 1, 1, "0 1 2 3");
    }
    expect_welcome(f, 1, 1, "0 1 2 3");
    expect_welcome(f, 3, 1, "0 1 2 3");
    fixture_stop(f);
}

/* The newcomer comes while something still holds the connection of the process before it, whose end
 * is reported last. */
static void test_newcomer_overtakes(void **state)
{
    struct fixture *f = start_replacing(2, PATIENCE_MS);
    struct client *before = f->ranks[0];

    (void)state;
    come(f, 0, 1);
    expect_closed(before);
    client_close(before);
    expect_comes(f, 1, 0);
    expect_dead(f, 1, 0);
    fixture_tell(f, "exited 0 %d was killed", HOST_PID);
    repair(f, 1);
    expect_broken(f, 1, "rank 0");
    expect_repaired(f, 1, 1, 1, "0 1");
    expect_welcome(f, 0, 1, "0 1");
    fixture_stop(f);
}

/* The coordinator has sent it nothing by now. */
static void expect_silence(struct fixture *f, int rank)
{
    struct frame frame;
    struct fault why;

    fixture_tell(f, "pause"); /* which is answered behind all that went before */
    expect_report(f, "paused");
    fixture_tell(f, "resume");
    assert_int_equal(client_poll(f->ranks[rank], &frame, &why), 0);
}

static void test_newcomer_is_refused(void **state)
{
    struct fixture *f = start_replacing(2, PATIENCE_MS);
    struct client *first;

    (void)state;
    fixture_close_rank(f, 1);
    expect_dead(f, 0, 1);
    come(f, 1, 1);
    expect_comes(f, 0, 1);
    first = f->ranks[1];
    come(f, 1, 2);
    expect_text(f->ranks[1], COORD_FAILED, "code", ML_ERR_STATE, "another process");
    fixture_close_rank(f, 1);
    f->ranks[1] = first;
    /* The last that lived goes. There is nobody to join, but mlaunch ends those that wait. */
    send_text(f->ranks[0], COORD_LEAVE, "{}");
    expect_left(f->ranks[0], 0);
    fixture_close_rank(f, 0);
    expect_silence(f, 1);
    fixture_stop(f);
}

/* A host is lost with a newcomer of it. */
static void test_newcomer_and_host(void **state)
{
    struct fixture *f = start_without_one(PATIENCE_MS);

    (void)state;
    for (int i = 0; i < 3; i += 2)
        expect_awaits(f, i);
    fixture_tell(f, "gone 1");
    fixture_tell(f, "vacant 1");
    for (int i = 0; i < 3; i += 2)
        expect_repaired(f, i, 1, 1, "0 2");
    fixture_stop(f);
}

/* The agent of a host; `placed` others had its place before. Returns its connection. */
static int agent_connect(struct fixture *f, int host, uint32_t placed)
{
    struct auth_identity me = {.purpose = "agent", .rank = host, .generation = placed};
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

/* Another host has come to a lost one's place before the coordinator's agent reads that the first
 * one is lost. */
static void test_place_before_gone(void **state)
{
    struct fixture *f;
    int first, second;

    (void)state;
    f = start_replacing(3, PATIENCE_MS);
    first = agent_connect(f, 1, 0);
    second = agent_connect(f, 1, 1);
    for (int i = 0; i < 3; i += 2)
        expect_text(f->ranks[i], COORD_DEAD, "rank", 1, "host b was lost");
    fixture_close_rank(f, 1);
    come(f, 1, 1);
    for (int i = 0; i < 3; i += 2)
        expect_comes(f, i, 1);
    fixture_tell(f, "gone 1 0"); /* what it is about has happened */
    for (int i = 0; i < 3; i += 2)
        repair(f, i);
    for (int i = 0; i < 3; i += 2) {
        expect_broken(f, i, "host b was lost");
        expect_repaired(f, i, 1, 1, "0 1 2");
    }
    fixture_tell(f, "gone 1 1"); /* the second one */
    for (int i = 0; i < 3; i += 2)
        expect_text(f->ranks[i], COORD_DEAD, "rank", 1, "host b was lost");
    close(first);
    close(second);
    fixture_stop(f);
}

/* A rank that lives is taken out of the job: it is dead to the others, which wait for nobody in its
 * place. */
static void test_leaves(void **state)
{
    struct fixture *f;

    (void)state;
    fixture_choice.replaces = true;
    fixture_choice.replace_ms = PATIENCE_MS;
    f = fixture_start_joined(3, 0);
    fixture_choice.replaces = false;
    fixture_tell(f, "leaves 1");
    fixture_tell(f, "leaves 3"); /* there is no such rank */
    for (int i = 0; i < 3; i += 2)
        expect_text(f->ranks[i], COORD_DEAD, "rank", 1, "(mlaunch shrink)");
    for (int i = 0; i < 3; i += 2)
        repair(f, i);
    for (int i = 0; i < 3; i += 2) {
        expect_broken(f, i, "rank 1 is gone");
        expect_repaired(f, i, 1, 1, "0 2");
    }
    fixture_tell(f, "exited 1 0 was killed"); /* later */
    fixture_stop(f);
}

/* The same, but the rank may first be told that it waits for a newcomer, whose way to the
 * coordinator is another one. */
static void expect_repaired_at_last(struct fixture *f, int rank, int membership, int group,
                                    const char *members)
{
    struct frame got;

    do
        next_frame(f->ranks[rank], &got);
    while (got.type == COORD_AWAITS || got.type == COORD_COMES);
    assert_int_equal(got.type, COORD_REPAIRED);
    check_repaired(f, json_loadb((char *)got.payload, got.size, 0, NULL), membership, group,
                   members);
}

/* A coordinator takes over while a newcomer waits: that comes to it, before the others or after. */
static void test_newcomer_moves(void **state)
{
    (void)state;
    for (int is_first = 0; is_first < 2; is_first++) {
        struct fixture *f;

        fixture_choice.takes_over = fixture_choice.replaces = true;
        fixture_choice.replace_ms = PATIENCE_MS;
        f = fixture_start(3, 0);
        fixture_choice.takes_over = fixture_choice.replaces = false;
        fixture_tell(f, "exited 1 0 has ended before");
        fixture_tell(f, "exited 2 0 has ended before");
        fixture_tell(f, "vacant 2");
        if (is_first)
            come(f, 1, 1);
        f->ranks[0] = fixture_open_rank(f, 0, 1);
        repair(f, 0);
        if (!is_first) {
            expect_awaits(f, 0);
            come(f, 1, 1);
            expect_comes(f, 0, 1);
            expect_repaired(f, 0, 2, 0, "0 1");
        } else {
            expect_repaired_at_last(f, 0, 2, 0, "0 1");
        }
        json_decref(expect_frame(f->ranks[1], COORD_WELCOME));
        expect_repaired(f, 1, 2, 0, "0 1");
        fixture_stop(f);
    }
}

/* A coordinator that takes over has heard nothing of a rank, which has ended: its host's agent,
 * whose last rank that was, is gone, too. */
static void test_ended_before_it_came(void **state)
{
    struct fixture *f;

    (void)state;
    fixture_choice.takes_over = true;
    f = fixture_start(2, 0);
    fixture_choice.takes_over = false;
    f->ranks[0] = fixture_open_rank(f, 0, 1);
    repair(f, 0);
    fixture_tell(f, "vacant 1");
    expect_repaired(f, 0, 2, 0, "0");
    fixture_tell(f, "vacant 0"); /* it is a member, whose end its connection shows */
    repair(f, 0);
    expect_broken(f, 0, "has called ml_repair");
    expect_repaired(f, 0, 3, 1, "0");
    fixture_stop(f);
}

static void repair_after(struct fixture *f, int rank, int timeout_ms, int groups)
{
    send_text(f->ranks[rank], COORD_REPAIR, "{\"pid\": %d, \"timeout_ms\": %d, \"groups\": %d}",
              HOST_PID + rank, timeout_ms, groups);
}

/* To a coordinator that takes over, a rank may speak of the groups that it had, whatever ml_repair
 * has come to. */
static void test_past_groups(void **state)
{
    struct fixture *f;

    (void)state;
    fixture_choice.takes_over = true;
    f = fixture_start(2, 0);
    fixture_choice.takes_over = false;
    for (int i = 0; i < 2; i++)
        f->ranks[i] = fixture_open_rank(f, i, 1);
    speak_of_past(f, 0, 3); /* before its REPAIR */
    repair_after(f, 0, 0, 4);
    expect_text(f->ranks[0], COORD_FAILED, "code", ML_ERR_TIMEOUT, "rank 1 on host b has not");
    speak_of_past(f, 0, 3);
    repair_after(f, 0, PATIENCE_MS, 4);
    speak_of_past(f, 0, 0); /* it waits for the other one */
    speak_of_past(f, 0, 3);
    repair_after(f, 1, PATIENCE_MS, 6); /* which has had more groups */
    for (int i = 0; i < 2; i++)
        expect_repaired(f, i, 2, 6, "0 1");
    expect_report(f, "repaired 2: 0 1");
    speak_of_past(f, 1, 5);
    expect_no_report(f);
    /* A number that no group has had yet is an offence. */
    send_text(f->ranks[1], COORD_FREE, "{\"group\": 7}");
    expect_report(f, "cut off rank 1 on host b: its FREE names a group that it is not in");
    fixture_stop(f);
}

/* --- AGREE ------------------------------------------------------------------------------------ */

static void agree(struct fixture *f, int rank, int group, int64_t value)
{
    send_text(f->ranks[rank], COORD_AGREE, "{\"group\": %d, \"value\": %lld}", group,
              (long long)value);
}

static void expect_agreed(struct fixture *f, int rank, int64_t value)
{
    json_t *message = expect_frame(f->ranks[rank], COORD_AGREED);

    assert_int_equal(json_integer_value(json_object_get(message, "value")), value);
    assert_null(json_object_get(message, "code"));
    json_decref(message);
}

static void test_agree(void **state)
{
    struct fixture *f = fixture_start_joined(3, 0);

    (void)state;
    agree(f, 0, 0, -1);
    agree(f, 1, 0, 7);
    agree(f, 2, 0, INT64_MIN + 11);
    for (int i = 0; i < 3; i++)
        expect_agreed(f, i, 3);
    /* One that dies has had its say, another one has not. */
    agree(f, 2, 0, 13);
    fixture_close_rank(f, 2);
    for (int i = 0; i < 2; i++)
        expect_dead(f, i, 2);
    agree(f, 0, 0, 6);
    agree(f, 1, 0, 12);
    for (int i = 0; i < 2; i++)
        expect_agreed(f, i, 4);
    agree(f, 0, 0, 9);
    fixture_close_rank(f, 1);
    expect_dead(f, 0, 1);
    expect_agreed(f, 0, 9);
    fixture_stop(f);
}

static void test_agree_stall(void **state)
{
    struct fixture *f = fixture_start_joined(4, PATIENCE_MS);

    (void)state;
    fixture_close_rank(f, 3); /* it is waited for by nobody */
    for (int i = 0; i < 3; i++)
        expect_dead(f, i, 3);
    agree(f, 0, 0, 1);
    agree(f, 2, 0, 1);
    expect_waits(f, "stall rank 1 on host b has not called ml_agree (the world group); ranks 0,2 "
                    "have waited 0 s for it");
    agree(f, 1, 0, 1);
    for (int i = 0; i < 3; i++)
        expect_agreed(f, i, 1);
    fixture_stop(f);
}

/* With a limit: it is said once, and of the next one anew. */
static void test_agree_stalls_twice(void **state)
{
    struct fixture *f = fixture_start_joined(2, 100);

    (void)state;
    for (int i = 0; i < 2; i++) {
        agree(f, 0, 0, 1);
        expect_report(f, "stall rank 1 on host b has not called ml_agree (the world group); rank 0 "
                         "has waited 0 s for it");
        agree(f, 1, 0, 1);
        for (int k = 0; k < 2; k++)
            expect_agreed(f, k, 1);
    }
    fixture_stop(f);
}

static void test_agree_or_repair(void **state)
{
    struct fixture *f = fixture_start_joined(3, 0);

    (void)state;
    send_text(f->ranks[1], COORD_BREAK, "{\"group\": 0, \"code\": %d, \"text\": \"no more\"}",
              ML_ERR_PEER);
    for (int i = 0; i < 3; i++)
        expect_broken(f, i, "no more");
    agree(f, 0, 0, 1);
    repair(f, 1);
    expect_text(f->ranks[0], COORD_AGREED, "code", ML_ERR_PEER, "");
    agree(f, 2, 0, 1); /* it is too late */
    expect_text(f->ranks[2], COORD_AGREED, "code", ML_ERR_PEER, "");
    repair(f, 0);
    repair(f, 2);
    for (int i = 0; i < 3; i++)
        expect_repaired(f, i, 1, 1, "0 1 2");
    for (int i = 0; i < 3; i++)
        agree(f, i, 1, 5);
    for (int i = 0; i < 3; i++)
        expect_agreed(f, i, 5);
    fixture_stop(f);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST_BOTH(test_death),
        TEST_BOTH(test_nobody_died),
        TEST_BOTH(test_groups_of_before),
        TEST_BOTH(test_death_meanwhile),
        TEST_BOTH(test_one_leaves),
        TEST_BOTH(test_lost_host),
        TEST_BOTH(test_timeout),
        TEST_BOTH(test_pause),
        TEST_BOTH(test_stall),
        TEST_BOTH(test_refused),
        TEST_BOTH(test_newcomer_is_awaited),
        TEST_BOTH(test_host_is_renamed),
        TEST_BOTH(test_host_is_added),
        TEST_BOTH(test_newcomer_is_early),
        TEST_BOTH(test_newcomer_is_late),
        TEST_BOTH(test_nobody_comes),
        TEST_BOTH(test_newcomer_dies),
        TEST_BOTH(test_newcomer_overtakes),
        TEST_BOTH(test_newcomer_is_refused),
        TEST_BOTH(test_newcomer_and_host),
        TEST_BOTH(test_leaves),
        cmocka_unit_test(test_place_before_gone),
        TEST_BOTH(test_newcomer_moves),
        TEST_BOTH(test_ended_before_it_came),
        TEST_BOTH(test_past_groups),
        TEST_BOTH(test_agree),
        TEST_BOTH(test_agree_stall),
        TEST_BOTH(test_agree_stalls_twice),
        TEST_BOTH(test_agree_or_repair),
    };

    return cmocka_run_group_tests_name("membership", tests, NULL, NULL);
}

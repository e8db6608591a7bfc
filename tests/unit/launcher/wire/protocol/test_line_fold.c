/* SPDX-License-Identifier: MIT */
/* test_line_fold.c: lines that several ranks write become one, in each rank's own order, within
 * their time; and how a stream is cut into lines. */
#include "launcher/wire/protocol/line_cut.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { RANKS = 8, HOLD_MS = 300, LINES = 400, ROOM = 1 << 20 };

/* What has been written: "0-3,7:text", and "end R;". */
static char said[ROOM];
static size_t said_size;
static bool is_open;
static uint32_t cost_sum;
/* The same for each rank alone. */
static char each[RANKS][1 << 16];

static bool may_write(size_t size, void *arg)
{
    (void)size, (void)arg;
    return is_open;
}

static void on_write(const struct line_ranks *ranks, bool is_piece, const char *bytes, size_t size,
                     int owner, uint32_t cost, void *arg)
{
    (void)owner, (void)arg;
    cost_sum += cost;
    for (uint32_t i = 0; i < ranks->count; i++) {
        const struct line_range *r = &ranks->ranges[i];

        assert_true(r->first <= r->last && r->last < RANKS);
        assert_true(i == 0 || r->first > ranks->ranges[i - 1].last + 1);
        said_size += (size_t)snprintf(said + said_size, ROOM - said_size, "%s%u-%u", i ? "," : "",
                                      r->first, r->last);
        for (uint32_t k = r->first; k <= r->last; k++)
            strncat(each[k], bytes, size);
    }
    said_size += (size_t)snprintf(said + said_size, ROOM - said_size, "%s%.*s",
                                  is_piece ? "~" : ":", (int)size, bytes);
}

static void on_end(int rank, void *arg)
{
    (void)arg;
    said_size += (size_t)snprintf(said + said_size, ROOM - said_size, "end %d;", rank);
}

static struct line_fold *fold_new(int ranks)
{
    const struct line_fold_events events = {may_write, on_write, on_end, NULL};
    struct line_fold *f = line_fold_create(RANKS, HOLD_MS, &events);

    assert_non_null(f);
    for (int r = 0; r < ranks; r++)
        line_fold_begin(f, r);
    memset(each, 0, sizeof(each));
    said[0] = '\0';
    said_size = 0;
    cost_sum = 0;
    is_open = true;
    return f;
}

static bool add(struct line_fold *f, int rank, const char *line, int64_t now)
{
    const struct line_range one = {(uint32_t)rank, (uint32_t)rank};

    return line_fold_add(f, &(struct line_ranks){&one, 1}, line, strlen(line), 0, 10, now);
}

static void test_together(void **state)
{
    struct line_fold *f = fold_new(3);

    (void)state;
    assert_false(add(f, 1, "a\n", 0));
    assert_true(add(f, 0, "a\n", 0));
    assert_int_equal(line_fold_write(f, 0), HOLD_MS);
    assert_string_equal(said, "");
    assert_true(line_fold_has(f, 1) && !line_fold_has(f, 2));
    assert_true(add(f, 2, "a\n", 299));
    assert_int_equal(line_fold_write(f, 299), -1);
    assert_string_equal(said, "0-2:a\n");
    assert_int_equal(cost_sum, 10); /* what joins is given back by the caller */
    assert_int_equal(line_fold_held(f), 0);
    line_fold_destroy(f);
}

/* What differs is apart, each rank's order is kept, and what all write after it is one line. */
static void test_apart(void **state)
{
    struct line_fold *f = fold_new(3);

    (void)state;
    for (int r = 0; r < 3; r++) {
        add(f, r, "a\n", 0);
        if (r == 1)
            add(f, r, "odd\n", 0);
        add(f, r, "b\n", 0);
    }
    line_fold_write(f, 0);
    assert_string_equal(said, "0-2:a\n1-1:odd\n0-2:b\n");
    line_fold_destroy(f);
}

/* Each rank names itself between what all write, which moves behind the names and is still written
 * in its time. */
static void test_moved(void **state)
{
    struct line_fold *f = fold_new(3);

    (void)state;
    add(f, 0, "rank 0\n", 0);
    add(f, 0, "b\n", 10);
    add(f, 1, "rank 1\n", 200);
    assert_true(add(f, 1, "b\n", 210));
    assert_int_equal(line_fold_write(f, 220), 80);
    assert_int_equal(line_fold_write(f, 300), 10);
    assert_string_equal(said, "0-0:rank 0\n");
    assert_int_equal(line_fold_write(f, 310), -1);
    assert_string_equal(said, "0-0:rank 0\n1-1:rank 1\n0-1:b\n");
    assert_int_equal(line_fold_held(f), 0);
    line_fold_destroy(f);
}

/* A line behind which somebody has written more stays where it is. */
static void test_fixed(void **state)
{
    struct line_fold *f = fold_new(2);

    (void)state;
    add(f, 0, "b\n", 0);
    add(f, 0, "c\n", 0);
    add(f, 1, "odd\n", 0);
    assert_false(add(f, 1, "b\n", 0));
    assert_false(add(f, 1, "b\n", 0)); /* nor does a rank join its own */
    line_fold_write(f, HOLD_MS);
    assert_string_equal(said, "0-0:b\nc\n1-1:odd\nb\nb\n");
    line_fold_destroy(f);
}

/* A rank that is silent holds the others up for their time alone, one that has ended not at all. */
static void test_ends(void **state)
{
    struct line_fold *f = fold_new(2);

    (void)state;
    add(f, 0, "a\n", 5);
    assert_int_equal(line_fold_write(f, 5), HOLD_MS);
    line_fold_end(f, 1);
    assert_string_equal(said, "end 1;");
    assert_int_equal(line_fold_write(f, 6), -1);
    assert_string_equal(said, "end 1;0-0:a\n");
    is_open = false;
    add(f, 0, "b\n", 7);
    line_fold_end(f, 0);
    line_fold_write(f, 1000);
    assert_string_equal(said, "end 1;0-0:a\n");
    is_open = true;
    line_fold_write(f, 1000);
    assert_string_equal(said, "end 1;0-0:a\n0-0:b\nend 0;");
    line_fold_destroy(f);
}

/* Sets of ranks, as mlaunch gets them from agents. */
static void test_sets(void **state)
{
    const struct line_range even[] = {{0, 0}, {2, 2}}, odd[] = {{1, 1}, {3, 5}};
    struct line_fold *f = fold_new(6);

    (void)state;
    line_fold_add(f, &(struct line_ranks){even, 2}, "x\n", 2, 0, 7, 0);
    assert_true(line_fold_add(f, &(struct line_ranks){odd, 2}, "x\n", 2, 1, 9, 0));
    line_fold_write(f, 0);
    assert_string_equal(said, "0-5:x\n");
    assert_int_equal(cost_sum, 7);
    line_fold_destroy(f);
}

/* Whatever ranks write, each one's lines come once and in order. */
static void test_random(void **state)
{
    static char wrote[RANKS][1 << 16];
    uint32_t dice = 7;

    (void)state;
    for (int round = 0; round < 20; round++) {
        struct line_fold *f = fold_new(RANKS);
        int64_t now = 0;

        memset(wrote, 0, sizeof(wrote));
        for (int i = 0; i < LINES; i++) {
            int rank = (int)((dice = dice * 1664525 + 1013904223) >> 24) % RANKS;
            char line[16];

            snprintf(line, sizeof(line), "%u\n", (dice >> 8) % (1 + (unsigned)round));
            strcat(wrote[rank], line);
            if (dice % 13 == 0)
                line_fold_piece(f, rank, line, strlen(line), 0, 0, now);
            else
                add(f, rank, line, now);
            is_open = dice % 5 != 0;
            now += dice % 50;
            line_fold_write(f, now);
        }
        is_open = true;
        for (int r = 0; r < RANKS; r++)
            line_fold_end(f, r);
        line_fold_hurry(f, -1);
        line_fold_write(f, now);
        for (int r = 0; r < RANKS; r++)
            assert_string_equal(each[r], wrote[r]);
        assert_int_equal(line_fold_held(f), 0);
        line_fold_destroy(f);
    }
}

static void test_cut(void **state)
{
    struct line_fold *f = fold_new(1);
    struct line_cut c = {0};
    static char longer[40000];

    (void)state;
    line_cut_add(&c, f, 0, "one\ntw", 6, 0);
    line_fold_write(f, 0);
    assert_string_equal(said, "0-0:one\n");
    line_cut_add(&c, f, 0, "o\r\nth", 5, 10);
    line_fold_write(f, 10);
    assert_string_equal(said, "0-0:one\n0-0:two\r\n");
    /* A part of a line appears when its time is over, and the rest behind it. */
    line_cut_tick(&c, f, 0, HOLD_MS, 309);
    assert_int_equal(c.size, 2);
    line_cut_tick(&c, f, 0, HOLD_MS, 310);
    line_cut_add(&c, f, 0, "ree\nfour\n", 9, 320);
    line_fold_write(f, 320);
    assert_string_equal(said, "0-0:one\n0-0:two\r\n0-0~three\n0-0:four\n");
    /* States are shown once a moment, and a line is what they leave. */
    said_size = 0;
    line_cut_add(&c, f, 0, "\r10%\r20%\r30%", 12, 400);
    line_cut_tick(&c, f, 0, HOLD_MS, 700);
    line_fold_write(f, 700);
    assert_string_equal(said, "0-0:20%\r");
    line_cut_tick(&c, f, 0, HOLD_MS, 1000);
    line_cut_add(&c, f, 0, "\r40%\rdone\nx", 11, 1100);
    line_fold_write(f, 1100);
    assert_string_equal(said, "0-0:20%\r0-0:30%\rdone\n");
    /* A line that is too long is no less whole. */
    memset(longer, 'y', sizeof(longer));
    longer[sizeof(longer) - 1] = '\n';
    memset(each, 0, sizeof(each));
    line_cut_add(&c, f, 0, longer, 30000, 1200);
    line_cut_add(&c, f, 0, longer + 30000, sizeof(longer) - 30000, 1200);
    line_cut_add(&c, f, 0, "end", 3, 1200);
    line_cut_end(&c, f, 0, 1200);
    line_fold_write(f, 1200);
    assert_int_equal(strlen(each[0]), 1 + sizeof(longer) + 3);
    line_fold_destroy(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_together), cmocka_unit_test(test_apart), cmocka_unit_test(test_ends),
        cmocka_unit_test(test_moved),    cmocka_unit_test(test_fixed), cmocka_unit_test(test_sets),
        cmocka_unit_test(test_random),   cmocka_unit_test(test_cut),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* What a rank records of its calls, as the agent reads it; and files that no rank has made. */
#include "launcher/agent/host/rank_record.h"

#include "runtime/process/calls_file.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { RANK = 3, MANY = 70000 };
static char dir[64], last[RANK_CALLS_PATH], all[RANK_CALLS_PATH];

static int setup(void **state)
{
    (void)state;
    snprintf(dir, sizeof(dir), "/tmp/mlaunch-record.%d", (int)getpid());
    snprintf(last, sizeof(last), "/dev/shm/mlaunch-%u-mlaunch-record.%d.calls.%d",
             (unsigned)geteuid(), (int)getpid(), RANK);
    snprintf(all, sizeof(all), "%s/calls.%d", dir, RANK);
    unsetenv("MLAUNCH_RECORD");
    return mkdir(dir, 0700);
}

static int teardown(void **state)
{
    (void)state;
    unlink(last);
    unlink(all);
    return rmdir(dir);
}

/* As call_record.h does, in the next `count` records. */
static void record(struct calls_file *c, uint64_t count)
{
    uint64_t n = c->file->taken;

    c->file->taken += count;
    for (; n < c->file->taken; n++) {
        struct rank_call *r;

        assert_true(n < c->limit || calls_file_grow(c, n));
        r = &c->file->calls[n & c->mask];
        r->start = calls_file_ticks(c);
        r->end = calls_file_ticks(c);
        r->count = n;
        r->number = (uint32_t)n + 1;
    }
}

/* Reads all, and expects `count` calls that end with the rank's call `last_one`. */
static void expect(uint64_t most, uint64_t count, uint64_t last_one)
{
    uint64_t before = (uint64_t)clock_ns() - 60 * 1000000000ull, found = 0, at = 0;
    struct rank_call calls[100];
    struct rank_record r;
    size_t n;

    assert_true(rank_record_open(&r, dir, geteuid(), RANK, most));
    while ((n = rank_record_read(&r, calls, 100)) > 0) {
        for (size_t i = 0; i < n; i++) {
            assert_true(calls[i].number > at);
            assert_true(calls[i].start > before && calls[i].end >= calls[i].start);
            assert_true(calls[i].end <= (uint64_t)clock_ns() + 1000000);
            at = calls[i].number;
        }
        found += n;
    }
    assert_int_equal(found, count);
    assert_int_equal(at, last_one);
    rank_record_close(&r);
    assert_false(rank_record_is_open(&r));
}

static void test_last(void **state)
{
    struct calls_file *c = calls_file_open(dir, RANK, 1);

    (void)state;
    assert_non_null(c);
    expect(1000, 0, 0);
    record(c, 5);
    expect(1000, 5, 5);
    c->file->calls[2].number = 0; /* the process was killed within it */
    expect(1000, 4, 5);
    calls_file_close(c); /* and the file stays */
    c = calls_file_open(dir, RANK, 2);
    record(c, 3000);
    expect(1000, 1000, 3005);
    expect(UINT64_MAX, RANK_CALLS_LAST, 3005);
    calls_file_close(c);
}

static void test_all(void **state)
{
    struct calls_file *c;

    (void)state;
    setenv("MLAUNCH_RECORD", "all", 1);
    c = calls_file_open(dir, RANK, 1);
    assert_non_null(c);
    record(c, MANY);
    calls_file_close(c);
    c = calls_file_open(dir, RANK, 2);
    record(c, MANY);
    expect(1, 2 * MANY, 2 * MANY);
    calls_file_close(c);
}

static void test_off(void **state)
{
    struct rank_record r;

    (void)state;
    setenv("MLAUNCH_RECORD", "off", 1);
    assert_null(calls_file_open(dir, RANK, 1));
    assert_false(rank_record_open(&r, dir, geteuid(), RANK, 1000));
}

/* Files that no rank has made, or that one has damaged. */
static void test_foreign(void **state)
{
    struct calls_file *c = calls_file_open(dir, RANK, 1);
    struct rank_record r;

    (void)state;
    assert_non_null(c);
    record(c, 20);
    assert_false(rank_record_open(&r, dir, geteuid() + 1, RANK, 1000));
    c->file->taken = UINT64_MAX - 1;
    assert_true(rank_record_open(&r, dir, geteuid(), RANK, UINT64_MAX));
    while (rank_record_read(&r, c->file->calls, 1) > 0)
        ;
    rank_record_close(&r);
    c->file->magic = 0;
    assert_false(rank_record_open(&r, dir, geteuid(), RANK, 1000));
    calls_file_close(c);
    assert_int_equal(truncate(last, 100), 0);
    assert_false(rank_record_open(&r, dir, geteuid(), RANK, 1000));
    unlink(last);
    assert_int_equal(mkfifo(last, 0600), 0);
    assert_false(rank_record_open(&r, dir, geteuid(), RANK, 1000));
    assert_null(calls_file_open(dir, RANK, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_last, setup, teardown),
        cmocka_unit_test_setup_teardown(test_all, setup, teardown),
        cmocka_unit_test_setup_teardown(test_off, setup, teardown),
        cmocka_unit_test_setup_teardown(test_foreign, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* What a rank counts, as the agent reads it; and files that no rank has made. */
#include "launcher/agent/queries/rank_counts.h"

#include "runtime/process/counters_file.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { RANK = 3 };
static char dir[64], path[RANK_COUNTERS_PATH];
static char *hosts[] = {"a", "b\n"};

static int setup(void **state)
{
    (void)state;
    snprintf(dir, sizeof(dir), "/tmp/mlaunch-0/counts.%d", (int)getpid());
    snprintf(path, sizeof(path), "/dev/shm/mlaunch-%u-counts.%d.counters.%d", (unsigned)geteuid(),
             (int)getpid(), RANK);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    unlink(path);
    return 0;
}

static void expect(const char *text)
{
    json_t *read = rank_counts_read(dir, geteuid(), RANK);
    char *found;

    assert_non_null(read);
    found = json_dumps(read, JSON_COMPACT);
    assert_string_equal(found, text);
    free(found);
    json_decref(read);
}

static void expect_sum(const char *text)
{
    json_t *sum = rank_counts_sum(dir, geteuid(), RANK);
    char *found = json_dumps(sum, JSON_COMPACT);

    assert_string_equal(found, text);
    free(found);
    json_decref(sum);
}

static void test_counts(void **state)
{
    struct rank_counters *c = counters_file_open(dir, RANK, hosts, 2);

    (void)state;
    assert_non_null(c);
    expect("{\"calls\":[],\"links\":[]}");
    rank_counters_add(&c->calls[2].count, 1);
    rank_counters_add(&c->calls[2].bytes, 4000);
    rank_counters_add(&c->calls[2].algorithms[0], 2);
    rank_counters_add(&c->calls[2].algorithms[10], 5);
    rank_counters_add(&c->calls[9].count, 3);
    counters_file_wait(&c->calls[2], 10000);
    counters_file_wait(&c->calls[2], 10001);
    counters_file_wait(&c->calls[2], 499979999);
    counters_file_wait(&c->calls[2], 11500000000);
    rank_counters_add(&counters_file_links(c, 1, "tcp")->sent, 7);
    rank_counters_add(&counters_file_links(c, 0, "shared memory")->received, UINT64_MAX);
    assert_null(counters_file_links(c, 0, "pigeon"));
    assert_ptr_equal(counters_file_links(c, 9, "rdma"), counters_file_links(c, 1, "rdma"));
    expect("{\"calls\":[{\"call\":\"all_reduce\",\"count\":1,\"algorithms\":{\"\":2,"
           "\"ring\":5},\"bytes\":4000,\"waits\":[1,1,0,0,0,1,0,1],\"wait_s\":12.0},"
           "{\"call\":\"scatter\",\"count\":3,\"bytes\":0,\"waits\":[0,0,0,0,0,0,0,0],"
           "\"wait_s\":0.0}],"
           "\"links\":[{\"host\":\"a\",\"link\":\"shm\",\"sent\":0,"
           "\"received\":9223372036854775807},"
           "{\"host\":\"b\\n\",\"link\":\"tcp\",\"sent\":7,\"received\":0}]}");
    assert_null(rank_counts_read(dir, geteuid() + 1, RANK));
    assert_null(rank_counts_read(dir, geteuid(), RANK + 1));
    rank_counters_add(&c->kept_waiting, 3);
    counters_file_close(c); /* the file stays for the summary */
    expect_sum("{\"calls\":4,\"bytes\":4000,\"wait_ms\":12000,\"kept_waiting\":3}");
    assert_int_equal(unlink(path), 0);
    assert_null(rank_counts_read(dir, geteuid(), RANK));
    assert_null(rank_counts_sum(dir, geteuid(), RANK));
}

/* A process that joins again begins anew, and does not touch what another still has mapped. */
static void test_again(void **state)
{
    struct rank_counters *c = counters_file_open(dir, RANK, hosts, 1), *again;

    (void)state;
    rank_counters_add(&c->calls[1].count, 1);
    again = counters_file_open(dir, RANK, hosts, 1);
    assert_non_null(again);
    rank_counters_add(&c->calls[1].count, 1);
    expect("{\"calls\":[],\"links\":[]}");
    counters_file_close(again);
    counters_file_close(c);
    counters_file_close(NULL);
    unlink(path);
}

static void forge(const void *bytes, size_t size)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, size), size);
    close(fd);
    assert_null(rank_counts_read(dir, geteuid(), RANK));
    unlink(path);
}

static void test_forged(void **state)
{
    size_t size = rank_counters_size(1);
    struct rank_counters *c = calloc(1, size);

    (void)state;
    assert_non_null(c);
    c->hosts = 1;
    forge(c, size);
    c->magic = RANK_COUNTERS_MAGIC;
    forge(c, size - 1);
    forge(c, 0);
    c->hosts = UINT32_MAX;
    forge(c, size);
    free(c);
    assert_int_equal(symlink("/dev/zero", path), 0);
    assert_null(rank_counts_read(dir, geteuid(), RANK));
    unlink(path);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_null(rank_counts_read(dir, geteuid(), RANK));
}

/* A rank does without, where there is no place for the file. */
static void test_no_place(void **state)
{
    char long_dir[4200];

    (void)state;
    memset(long_dir, 'x', sizeof(long_dir) - 1);
    long_dir[sizeof(long_dir) - 1] = '\0';
    assert_null(counters_file_open(long_dir, RANK, hosts, 1));
}

/* A rank says its membership once it has one; what it writes there is bounded. */
static void test_world(void **state)
{
    struct rank_counters *c = counters_file_open(dir, RANK, hosts, 2);
    int64_t membership, members;

    (void)state;
    assert_non_null(c);
    assert_false(rank_counts_world(dir, geteuid(), RANK, &membership, &members));
    counters_file_world(c, 2, 6);
    assert_true(rank_counts_world(dir, geteuid(), RANK, &membership, &members));
    assert_int_equal(membership, 2);
    assert_int_equal(members, 6);
    c->members = c->membership = UINT64_MAX;
    assert_true(rank_counts_world(dir, geteuid(), RANK, &membership, &members));
    assert_true(membership == ((int64_t)1 << 50) - 1 && members == membership);
    counters_file_world(NULL, 1, 1);
    counters_file_close(c);
    assert_false(rank_counts_world(dir, geteuid(), RANK + 1, &membership, &members));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_counts, setup, teardown),
        cmocka_unit_test_setup_teardown(test_world, setup, teardown),
        cmocka_unit_test_setup_teardown(test_again, setup, teardown),
        cmocka_unit_test_setup_teardown(test_forged, setup, teardown),
        cmocka_unit_test_setup_teardown(test_no_place, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/*
 * test_keep_slot.c: a slot gives back what was written to it, or nothing: with any byte of it
 * changed, cut off, longer, of another owner, and where something else has its name. What /dev/shm
 * has no room for is refused, and harms nothing.
 */
#include "runtime/keep/keep_slot.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { SIZE = (1 << 20) + 13, HEAD = sizeof(struct keep_head) };

static char dir[64], path[256];
static unsigned char data[SIZE], got[SIZE];
static struct fault why;
static struct keep_owner owner;

static int set_up(void **state)
{
    (void)state;
    snprintf(dir, sizeof(dir), "/tmp/test-keep.%d", (int)getpid());
    owner = (struct keep_owner){
        .dir = dir, .job = "0a1b2c", .host = "a", .name = "state.1_-", .rank = 3};
    snprintf(path, sizeof(path), "/dev/shm/mlaunch-%u-test-keep.%d.keep.3.0.state.1_-",
             (unsigned)geteuid(), (int)getpid());
    for (size_t i = 0; i < SIZE; i++)
        data[i] = (unsigned char)(i * 2654435761u >> 13);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    rmdir(path);
    keep_slot_drop(&owner, 0);
    return 0;
}

static int put(size_t size, uint64_t version)
{
    struct keep_head head = {.type = 12, .size = size, .stamp = {5, version}};

    return keep_slot_write(&owner, 0, &head, data, NULL, NULL, &why);
}

static enum keep_slot_state look(struct keep_head *out)
{
    return keep_slot_look(&owner, 0, out);
}

static int get(const struct keep_head *head)
{
    memset(got, 0, sizeof(got));
    return keep_slot_read(&owner, 0, head, got, &why);
}

static void poke(off_t at, const void *bytes, size_t size)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, bytes, size, at), size);
    close(fd);
}

static void test_same_back(void **state)
{
    static const size_t sizes[] = {0, 1, 7, 8, 4096, SIZE, 9, 0, 1 << 20};
    struct keep_head head;

    (void)state;
    assert_int_equal(look(&head), KEEP_SLOT_NONE);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        assert_int_equal(put(sizes[i], i), 0);
        assert_int_equal(look(&head), KEEP_SLOT_WHOLE);
        assert_int_equal(head.size, sizes[i]);
        assert_int_equal(head.stamp.course, 5);
        assert_int_equal(head.stamp.version, i);
        assert_int_equal(head.type, 12);
        assert_int_equal(get(&head), 0);
        assert_memory_equal(got, data, sizes[i]);
        assert_int_equal(keep_slot_read(&owner, 0, &head, NULL, &why), 0);
    }
    keep_slot_drop(&owner, 0);
    assert_int_equal(look(&head), KEEP_SLOT_NONE);
}

static void test_names(void **state)
{
    static const char *const good[] = {"a", "-", "state.1_-", "ZAz09"};
    static const char *const bad[] = {"", "a/b", "../x", "a b", "\n", "ä"};
    char text[KEPT_NAME + 1];

    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++)
        assert_true(kept_is_name(good[i]));
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        assert_false(kept_is_name(bad[i]));
    memset(text, 'x', sizeof(text));
    text[KEPT_NAME] = '\0';
    assert_false(kept_is_name(text));
    text[KEPT_NAME - 1] = '\0';
    assert_true(kept_is_name(text));
}

/* Each byte of the head is bound by its hash, and the hash by the head. */
static void test_head_damaged(void **state)
{
    struct keep_head head, changed;

    (void)state;
    assert_int_equal(put(SIZE, 7), 0);
    assert_int_equal(look(&head), KEEP_SLOT_WHOLE);
    for (size_t i = 0; i < HEAD; i++) {
        unsigned char byte = ((unsigned char *)&head)[i] ^ (unsigned char)(1u << i % 8);

        poke((off_t)i, &byte, 1);
        assert_int_equal(look(&changed), KEEP_SLOT_TORN);
        poke((off_t)i, (unsigned char *)&head + i, 1);
    }
    assert_int_equal(look(&changed), KEEP_SLOT_WHOLE);
    for (int turn = 0; turn < 2000; turn++) {
        unsigned char noise[HEAD];

        for (size_t i = 0; i < HEAD; i++)
            noise[i] = (unsigned char)rand();
        if (turn % 2) /* behind a good beginning */
            memcpy(noise, &head, (size_t)rand() % HEAD);
        poke(0, noise, HEAD);
        assert_int_equal(look(&changed), KEEP_SLOT_TORN);
    }
}

static void test_length_damaged(void **state)
{
    static const off_t lengths[] = {
        0, 1, HEAD - 1, HEAD, KEPT_HEAD, KEPT_HEAD + SIZE - 1, KEPT_HEAD + SIZE + 1};
    struct keep_head head, changed;

    (void)state;
    for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
        assert_int_equal(put(SIZE, 7), 0);
        assert_int_equal(look(&head), KEEP_SLOT_WHOLE);
        assert_int_equal(truncate(path, lengths[i]), 0);
        assert_int_equal(look(&changed), KEEP_SLOT_TORN);
        /* It was cut off after it had been looked at. */
        if (lengths[i] < KEPT_HEAD + SIZE)
            assert_int_equal(get(&head), ML_ERR_REFUSED);
    }
}

static void test_data_damaged(void **state)
{
    struct keep_head head;

    (void)state;
    assert_int_equal(put(SIZE, 7), 0);
    assert_int_equal(look(&head), KEEP_SLOT_WHOLE);
    for (int turn = 0; turn < 50; turn++) {
        size_t at = turn < 2 ? (size_t)turn * (SIZE - 1) : (size_t)rand() % SIZE;
        unsigned char byte = data[at] ^ (unsigned char)(1 << rand() % 8);

        poke((off_t)(KEPT_HEAD + at), &byte, 1);
        assert_int_equal(look(&head), KEEP_SLOT_WHOLE);
        assert_int_equal(get(&head), ML_ERR_REFUSED);
        assert_non_null(strstr(why.text,
                               "version 7 of \"state.1_-\", which rank 3 has kept on host "
                               "a, is damaged"));
        assert_int_equal(keep_slot_read(&owner, 0, &head, NULL, &why), ML_ERR_REFUSED);
        poke((off_t)(KEPT_HEAD + at), &data[at], 1);
        assert_int_equal(get(&head), 0);
    }
}

/* A slot of another job, rank or name, whatever its file is called. */
static void test_foreign(void **state)
{
    struct keep_head head;
    struct keep_owner other = owner;
    char theirs[256];

    (void)state;
    for (int turn = 0; turn < 3; turn++) {
        other = owner;
        other.job = turn == 0 ? "ffffff" : owner.job;
        other.rank = turn == 1 ? 4 : owner.rank;
        other.name = turn == 2 ? "state" : owner.name;
        head = (struct keep_head){.size = 100, .stamp = {5, 1}};
        assert_int_equal(keep_slot_write(&other, 0, &head, data, NULL, NULL, &why), 0);
        assert_int_equal(keep_slot_look(&other, 0, &head), KEEP_SLOT_WHOLE);
        snprintf(theirs, sizeof(theirs), "/dev/shm/mlaunch-%u-test-keep.%d.keep.%d.0.%s",
                 (unsigned)geteuid(), (int)getpid(), other.rank, other.name);
        if (turn > 0)
            assert_int_equal(rename(theirs, path), 0);
        assert_int_equal(look(&head), KEEP_SLOT_TORN);
        keep_slot_drop(&owner, 0);
    }
}

static void test_no_file(void **state)
{
    struct keep_head head;

    (void)state;
    assert_int_equal(mkfifo(path, 0600), 0); /* nobody hangs at it */
    assert_int_equal(look(&head), KEEP_SLOT_TORN);
    assert_int_equal(put(8, 1), ML_ERR_SYSTEM);
    keep_slot_drop(&owner, 0);
    assert_int_equal(symlink("/dev/null", path), 0);
    assert_int_equal(look(&head), KEEP_SLOT_TORN);
    assert_int_equal(put(8, 1), ML_ERR_SYSTEM);
    keep_slot_drop(&owner, 0);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(look(&head), KEEP_SLOT_TORN);
    assert_int_equal(put(8, 1), ML_ERR_SYSTEM);
    assert_non_null(strstr(why.text, "cannot keep version 1 of \"state.1_-\" in /dev/shm of host "
                                     "a: Is a directory"));
}

/* What was there stays, and no new file is left. */
static void test_no_room(void **state)
{
    const struct rlimit small = {SIZE, RLIM_INFINITY};
    struct rlimit before;
    struct keep_head head;

    (void)state;
    assert_int_equal(put(100, 1), 0);
    head = (struct keep_head){.size = (uint64_t)1 << 60, .stamp = {5, 2}};
    assert_int_equal(keep_slot_write(&owner, 0, &head, data, NULL, NULL, &why), ML_ERR_SYSTEM);
    assert_non_null(
        strstr(why.text, "/dev/shm of host a has no room for its 1125899906842625 KiB"));
    head.size = INT64_MAX;
    assert_int_equal(keep_slot_write(&owner, 0, &head, data, NULL, NULL, &why), ML_ERR_SYSTEM);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    assert_int_equal(put(SIZE, 2), ML_ERR_SYSTEM);
    assert_non_null(strstr(why.text, "ulimit -f"));
    assert_int_equal(look(&head), KEEP_SLOT_WHOLE);
    assert_int_equal(head.stamp.version, 1);
    keep_slot_drop(&owner, 0);
    assert_int_equal(put(SIZE, 2), ML_ERR_SYSTEM);
    assert_int_equal(look(&head), KEEP_SLOT_NONE);
    setrlimit(RLIMIT_FSIZE, &before);
}

/* Standard output is closed: what another thread prints must not get into the slot. */
static void test_no_low_descriptor(void **state)
{
    struct keep_head head;
    int status;
    pid_t pid;

    (void)state;
    pid = fork();
    if (pid == 0) {
        close(0);
        close(1);
        if (put(SIZE, 3) != 0 || look(&head) != KEEP_SLOT_WHOLE || get(&head) != 0)
            _exit(1);
        _exit(fcntl(0, F_GETFD) >= 0 || fcntl(1, F_GETFD) >= 0 ? 2 : 0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_same_back, set_up, tear_down),
        cmocka_unit_test(test_names),
        cmocka_unit_test_setup_teardown(test_head_damaged, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_length_damaged, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_data_damaged, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_foreign, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_no_file, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_no_room, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_no_low_descriptor, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

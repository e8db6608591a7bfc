/* SPDX-License-Identifier: MIT */
/* test_place_lock.c: who uses a place excludes who would remove it, and the other way round. */
#include "launcher/base/machine/place_lock.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char base[] = "/tmp/mlaunch-unit.XXXXXX";
static char file[64], directory[64], fifo[64], to_file[64], to_directory[64];

static void users_share_a_place(void **state)
{
    int one = place_lock_directory(directory), two = place_lock_directory(directory);

    (void)state;
    assert_true(one >= 0 && two >= 0);
    assert_true(place_lock_is_held(AT_FDCWD, directory));
    place_lock_drop(&one);
    assert_int_equal(one, -1);
    assert_true(place_lock_is_held(AT_FDCWD, directory));
    place_lock_drop(&two);
    assert_false(place_lock_is_held(AT_FDCWD, directory));
    place_lock_drop(&two);
}

static void a_user_and_a_remover_exclude_each_other(void **state)
{
    int use = place_lock_file(file), lock;

    (void)state;
    assert_true(use >= 0);
    assert_false(place_lock_exclude(&lock, AT_FDCWD, file));
    assert_int_equal(lock, -1);
    place_lock_drop(&use);
    assert_true(place_lock_exclude(&lock, AT_FDCWD, file));
    assert_true(lock >= 0);
    assert_int_equal(place_lock_file(file), -1);
    place_lock_drop(&lock);
}

static void what_cannot_be_locked_is_not_held(void **state)
{
    int lock;

    (void)state;
    assert_true(place_lock_exclude(&lock, AT_FDCWD, fifo));
    assert_int_equal(lock, -1);
    assert_false(place_lock_is_held(AT_FDCWD, "/no/such/place"));
    assert_int_equal(place_lock_directory("/no/such/place"), -1);
}

static void links_and_other_kinds_are_not_locked(void **state)
{
    (void)state;
    assert_int_equal(place_lock_file(to_file), -1);
    assert_int_equal(place_lock_directory(to_directory), -1);
    assert_int_equal(place_lock_directory(file), -1);
    assert_int_equal(place_lock_file(directory), -1);
    assert_int_equal(place_lock_file(fifo), -1);
}

static void what_is_removed_is_no_longer_there(void **state)
{
    int lock = place_lock_file(file);

    (void)state;
    assert_true(place_lock_is_there(lock));
    assert_int_equal(unlink(file), 0);
    assert_false(place_lock_is_there(lock));
    assert_false(place_lock_is_there(-1));
    place_lock_drop(&lock);
}

static int setup(void **state)
{
    (void)state;
    if (!mkdtemp(base))
        return -1;
    snprintf(file, sizeof(file), "%s/file", base);
    snprintf(directory, sizeof(directory), "%s/directory", base);
    snprintf(fifo, sizeof(fifo), "%s/fifo", base);
    snprintf(to_file, sizeof(to_file), "%s/to-file", base);
    snprintf(to_directory, sizeof(to_directory), "%s/to-directory", base);
    return mkdir(directory, 0700) || mkfifo(fifo, 0600) || symlink("file", to_file) ||
           symlink("directory", to_directory);
}

static int teardown(void **state)
{
    (void)state;
    return unlink(to_file) || unlink(to_directory) || unlink(fifo) || rmdir(directory) ||
           rmdir(base);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(users_share_a_place),
        cmocka_unit_test(a_user_and_a_remover_exclude_each_other),
        cmocka_unit_test(what_cannot_be_locked_is_not_held),
        cmocka_unit_test(links_and_other_kinds_are_not_locked),
        cmocka_unit_test(what_is_removed_is_no_longer_there),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}

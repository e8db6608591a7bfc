/* SPDX-License-Identifier: MIT */
/* test_shared_copy.c: one copy of bytes for the ranks of a host. */
#include "common/net/shared_copy.h"

#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char dir[64], path[PATH_MAX];

static int name_make(void **state)
{
    (void)state;
    snprintf(dir, sizeof(dir), "/nowhere/copy%d", (int)getpid());
    snprintf(path, sizeof(path), "/dev/shm/mlaunch-%u-copy%d.copy.7", (unsigned)geteuid(),
             (int)getpid());
    return 0;
}

static int name_remove(void **state)
{
    (void)state;
    unlink(path);
    return 0;
}

static bool is_there(void)
{
    return access(path, F_OK) == 0;
}

static void test_readers(void **state)
{
    struct shared_copy first, second;
    struct stat st;
    struct fault why;

    (void)state;
    assert_int_equal(shared_copy_write(dir, 7, 2, "some bytes", 10, &why), 0);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_equal(shared_copy_map(&first, dir, 7, &why), 0);
    assert_true(is_there());
    assert_int_equal(shared_copy_map(&second, dir, 7, &why), 0);
    assert_false(is_there()); /* the last one has removed its name */
    assert_int_equal(first.size, 10);
    assert_memory_equal(first.bytes, "some bytes", 10);
    shared_copy_unmap(&first);
    assert_null(first.map);
    assert_memory_equal(second.bytes, "some bytes", 10);
    shared_copy_unmap(&second);
    shared_copy_unmap(&second);
}

static void test_taken(void **state)
{
    struct fault why;

    (void)state;
    close(open(path, O_WRONLY | O_CREAT, 0600));
    assert_int_equal(shared_copy_write(dir, 7, 2, "x", 1, &why), ML_ERR_SYSTEM);
    assert_non_null(strstr(why.text, "File exists"));
}

static void test_none(void **state)
{
    struct shared_copy copy;
    struct fault why;

    (void)state;
    assert_int_equal(shared_copy_map(&copy, dir, 7, &why), ML_ERR_SYSTEM);
    assert_non_null(strstr(why.text, "No such file"));
}

/* What is no copy is not mapped, and stays. */
static void test_another_file(void **state)
{
    static const char zeros[200];
    const size_t sizes[] = {0, 5, 64, 200};
    struct shared_copy copy;
    struct fault why;

    (void)state;
    for (int i = 0; i < 4; i++) {
        int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

        assert_int_equal(write(fd, zeros, sizes[i]), sizes[i]);
        close(fd);
        assert_int_equal(shared_copy_map(&copy, dir, 7, &why), ML_ERR_REFUSED);
        assert_non_null(strstr(why.text, path));
        assert_true(is_there());
    }
    unlink(path);
    assert_int_equal(symlink("/etc/hostname", path), 0);
    assert_int_equal(shared_copy_map(&copy, dir, 7, &why), ML_ERR_SYSTEM);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_readers, name_make, name_remove),
        cmocka_unit_test_setup_teardown(test_taken, name_make, name_remove),
        cmocka_unit_test_setup_teardown(test_none, name_make, name_remove),
        cmocka_unit_test_setup_teardown(test_another_file, name_make, name_remove),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

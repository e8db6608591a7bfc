/* SPDX-License-Identifier: MIT */
/* test_tree_place.c: the way to a directory is the same from wherever one has been before, and no
 * link is on it. */
#include "launcher/base/tree/tree_place.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char top[] = "/tmp/mlaunch-test.XXXXXX";
static int root;
static const char *const directories[] = {"a", "a/b", "a/b/c", "ab", "ab/b", "l"};
enum { DIRECTORIES = sizeof(directories) / sizeof(*directories) };

static int setup(void **state)
{
    (void)state;
    assert_non_null(mkdtemp(top));
    root = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(root >= 0);
    for (int i = 0; i < DIRECTORIES; i++)
        assert_int_equal(mkdirat(root, directories[i], 0700), 0);
    assert_int_equal(symlinkat("../a", root, "l/link"), 0);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    unlinkat(root, "l/link", 0);
    for (int i = DIRECTORIES; i > 0; i--)
        unlinkat(root, directories[i - 1], AT_REMOVEDIR);
    close(root);
    return rmdir(top);
}

/* Whether `fd` is the directory `path`. */
static bool is_directory(int fd, const char *path)
{
    struct stat a, b;

    return fd >= 0 && fstat(fd, &a) == 0 && fstatat(root, path, &b, 0) == 0 &&
           a.st_ino == b.st_ino && a.st_dev == b.st_dev;
}

/* From each directory to each other. */
static void test_ways(void **state)
{
    (void)state;
    for (int i = 0; i < DIRECTORIES; i++)
        for (int j = 0; j < DIRECTORIES; j++) {
            struct tree_place p;
            char path[32];
            const char *name;

            tree_place_open(&p, root);
            for (int k = 0; k < 2; k++) {
                const char *at = directories[k ? j : i];

                strcat(strcpy(path, at), "/file");
                assert_true(is_directory(tree_place_go(&p, path, &name), at));
                assert_string_equal(name, "file");
            }
            assert_int_equal(tree_place_go(&p, "file", &name), root);
            tree_place_close(&p);
        }
}

static void test_links(void **state)
{
    static const char *const behind[] = {"l/link/file", "l/link/b/file"};

    (void)state;
    for (int i = 0; i < 4; i++) {
        struct tree_place p;
        const char *name;

        tree_place_open(&p, root);
        if (i / 2)
            assert_true(is_directory(tree_place_go(&p, "l/link", &name), "l"));
        assert_int_equal(tree_place_go(&p, behind[i % 2], &name), -1);
        assert_true(errno == ENOTDIR || errno == ELOOP);
        assert_int_equal(tree_place_go(&p, "a/none/file", &name), -1);
        assert_int_equal(errno, ENOENT);
        assert_true(is_directory(tree_place_go(&p, "a/b/file", &name), "a/b"));
        tree_place_close(&p);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {cmocka_unit_test(test_ways),
                                              cmocka_unit_test(test_links)};

    return cmocka_run_group_tests_name("tree_place", tests, setup, teardown);
}

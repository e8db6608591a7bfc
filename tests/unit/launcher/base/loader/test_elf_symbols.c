/* SPDX-License-Identifier: MIT */
/* test_elf_symbols.c: which functions this program defines, and files that are damaged. */
#include "launcher/base/loader/elf_symbols.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static const char self[] = "/proc/self/exe";

int a_function_of_this_program(void);
extern int an_object_of_this_program;

int a_function_of_this_program(void)
{
    return an_object_of_this_program;
}

int an_object_of_this_program = 1;

static int find(const char *path, const char *name)
{
    const char *names[] = {"no_function_of_this_program", name};

    return elf_symbols_find(path, names, 2);
}

static void test_this_program(void **state)
{
    (void)state;
    assert_int_equal(find(self, "a_function_of_this_program"), 1);
    assert_int_equal(find(self, "main"), 1);
    assert_int_equal(find(self, "function_of_this_program"), -1);
    assert_int_equal(find(self, "a_function_of_this_prog"), -1);
    assert_int_equal(find(self, "an_object_of_this_program"), -1);
    /* cmocka's, which is needed and not defined */
    assert_int_equal(find(self, "_cmocka_run_group_tests"), -1);
    assert_int_equal(elf_symbols_find(self, NULL, 0), -1);
}

static void test_no_program(void **state)
{
    char path[] = "/tmp/elf_symbols.XXXXXX";
    int fd = mkstemp(path);

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(find("/no/such", "main"), -1);
    assert_int_equal(find("/tmp", "main"), -1);
    assert_int_equal(find(path, "main"), -1);
    assert_int_equal(write(fd, "#!/bin/sh\n", 10), 10);
    assert_int_equal(find(path, "main"), -1);
    unlink(path);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(find(path, "main"), -1);
    unlink(path);
    close(fd);
}

static char *file_read(size_t *size)
{
    int fd = open(self, O_RDONLY | O_CLOEXEC);
    struct stat st;
    char *bytes;

    assert_true(fd >= 0 && fstat(fd, &st) == 0);
    bytes = malloc((size_t)st.st_size);
    assert_non_null(bytes);
    assert_int_equal(read(fd, bytes, (size_t)st.st_size), st.st_size);
    close(fd);
    *size = (size_t)st.st_size;
    return bytes;
}

/* Cut anywhere, and with the words of its header changed: nothing is found, or what is there. */
static void test_damaged(void **state)
{
    char path[] = "/tmp/elf_symbols.XXXXXX", *bytes;
    int fd = mkstemp(path), found;
    size_t size;

    (void)state;
    assert_true(fd >= 0);
    bytes = file_read(&size);
    assert_int_equal(write(fd, bytes, size), size);
    assert_int_equal(find(path, "main"), 1);
    for (size_t i = 0; i < 64; i++) {
        char byte = (char)0xff;

        assert_int_equal(pwrite(fd, &byte, 1, (off_t)i), 1);
        found = find(path, "main");
        assert_true(found == -1 || found == 1);
        assert_int_equal(pwrite(fd, &bytes[i], 1, (off_t)i), 1);
    }
    for (size_t cut = size; cut > 0; cut = cut * 9 / 10) {
        assert_int_equal(ftruncate(fd, (off_t)(cut - 1)), 0);
        found = find(path, "main");
        assert_true(found == -1 || (found == 1 && cut == size));
    }
    unlink(path);
    free(bytes);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_this_program),
        cmocka_unit_test(test_no_program),
        cmocka_unit_test(test_damaged),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

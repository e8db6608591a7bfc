/* SPDX-License-Identifier: MIT */
/* test_received_files.c: what an agent keeps of the files that it is sent, and what it refuses. */
#include "launcher/agent/rank/received_files.h"

#include <ftw.h>
#include <setjmp.h>
#include <sodium.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

static const char text[] = "#!/bin/sh\necho here\n";
enum { SIZE = sizeof(text) - 1 };

/* A job with three programs: the second is the same as the first, and no rank here needs the
 * third. */
struct fixture {
    char dir[32], unset[1];
    struct job_copy files[3];
    struct job_app apps[3];
    struct job_rank ranks[2];
    struct job_spec job;
    struct received_files *received;
};

static int sodium_status;

int __wrap_sodium_init(void);
int __wrap_sodium_init(void)
{
    return sodium_status;
}

static int removed(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st, (void)type, (void)ftw;
    return remove(path);
}

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    struct fault why = {0};

    assert_non_null(f);
    strcpy(f->dir, "/tmp/received.XXXXXX");
    assert_non_null(mkdtemp(f->dir));
    for (int i = 0; i < 3; i++) {
        f->files[i] = (struct job_copy){
            .name = i ? "b" : "a", .size = SIZE, .is_executable = true, .beside = -1};
        crypto_generichash(f->files[i].hash, JOB_COPY_HASH, (const uint8_t *)text, SIZE, NULL, 0);
        f->apps[i].file = i;
    }
    f->ranks[1].app = 1;
    f->job = (struct job_spec){.files = f->files,
                               .file_count = 3,
                               .apps = f->apps,
                               .app_count = 3,
                               .ranks = f->ranks,
                               .rank_count = 2};
    f->job.options.tmpdir = f->unset;
    assert_int_equal(received_files_open(&f->received, &f->job, f->dir, NULL, &why), 0);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    received_files_close(f->received);
    nftw(f->dir, removed, 8, FTW_DEPTH | FTW_PHYS);
    free(f);
    return 0;
}

static int add(struct fixture *f, uint32_t index, const char *bytes, size_t size)
{
    struct fault why = {0};
    int rc = received_files_add(f->received, index, bytes, size, &why);

    assert_true(rc == 0 || why.text[0]);
    return rc;
}

static void keeps_what_comes(void **state)
{
    struct fixture *f = *state;
    json_t *wanted = received_files_wanted(f->received);
    struct stat first, second;
    char read[64] = "";
    FILE *file;

    assert_int_equal(json_array_size(wanted), 1);
    assert_int_equal(json_integer_value(json_array_get(wanted, 0)), 0);
    json_decref(wanted);
    assert_false(received_files_are_whole(f->received));
    assert_int_equal(add(f, 0, text, 5), 0);
    assert_false(received_files_are_whole(f->received));
    assert_int_equal(add(f, 0, text + 5, SIZE - 5), 0);
    assert_true(received_files_are_whole(f->received));
    assert_int_equal(stat(received_files_path(f->received, 0), &first), 0);
    assert_int_equal(stat(received_files_path(f->received, 1), &second), 0);
    assert_int_equal(first.st_mode & 07777, 0700);
    assert_int_equal(first.st_ino, second.st_ino);
    assert_string_equal(strrchr(received_files_path(f->received, 1), '/'), "/b");
    file = fopen(received_files_path(f->received, 1), "r");
    assert_non_null(file);
    assert_int_equal(fread(read, 1, sizeof(read), file), SIZE);
    fclose(file);
    assert_string_equal(read, text);
    assert_int_equal(add(f, 0, "x", 1), ML_ERR_REFUSED);
}

static void refuses_another_file(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(add(f, 1, text, 1), ML_ERR_REFUSED);
    assert_int_equal(add(f, 2, text, 1), ML_ERR_REFUSED);
    assert_int_equal(add(f, UINT32_MAX, text, 1), ML_ERR_REFUSED);
}

static void refuses_too_much(void **state)
{
    char more[SIZE + 1] = "";

    assert_int_equal(add(*state, 0, more, sizeof(more)), ML_ERR_REFUSED);
}

static void refuses_other_contents(void **state)
{
    char other[SIZE];

    memcpy(other, text, SIZE);
    other[SIZE - 1] ^= 1;
    assert_int_equal(add(*state, 0, other, SIZE), ML_ERR_REFUSED);
    assert_false(received_files_are_whole(((struct fixture *)*state)->received));
}

static void refuses_what_has_no_room(void **state)
{
    struct fixture *f = *state;
    struct received_files *r = NULL;
    struct fault why = {0};
    char dir[64];

    snprintf(dir, sizeof(dir), "%s/more", f->dir);
    assert_int_equal(mkdir(dir, 0700), 0);
    f->files[0].size = INT64_MAX;
    assert_int_equal(received_files_open(&r, &f->job, dir, NULL, &why), ML_ERR_SYSTEM);
    assert_null(r);
    assert_non_null(strstr(why.text, "make room"));
    f->files[0].size = SIZE;
}

/* The address sanitizer sees what is lost. */
static void keeps_nothing_without_libsodium(void **state)
{
    struct fixture *f = *state;
    struct received_files *r = NULL;
    struct fault why = {0};

    sodium_status = -1;
    assert_int_equal(received_files_open(&r, &f->job, f->dir, NULL, &why), ML_ERR_MEMORY);
    sodium_status = 0;
    assert_null(r);
}

static void needs_nothing_without_files(void **state)
{
    struct fixture *f = *state;
    struct received_files *r = NULL;

    f->apps[0].file = f->apps[1].file = -1;
    assert_int_equal(received_files_open(&r, &f->job, "/nowhere", NULL, NULL), 0);
    assert_null(r);
    assert_true(received_files_are_whole(r));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(keeps_what_comes, setup, teardown),
        cmocka_unit_test_setup_teardown(refuses_another_file, setup, teardown),
        cmocka_unit_test_setup_teardown(refuses_too_much, setup, teardown),
        cmocka_unit_test_setup_teardown(refuses_other_contents, setup, teardown),
        cmocka_unit_test_setup_teardown(refuses_what_has_no_room, setup, teardown),
        cmocka_unit_test_setup_teardown(keeps_nothing_without_libsodium, setup, teardown),
        cmocka_unit_test_setup_teardown(needs_nothing_without_files, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

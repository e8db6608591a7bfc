/* SPDX-License-Identifier: MIT */
/* test_job_directory.c: made 0700 below a safe directory; removed with its contents. */
#include "launcher/agent/host/job_directory.h"

#include "common/net/job_file.h"

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

static char base[] = "/tmp/mlaunch-unit.XXXXXX";

static void user_directory(char *out, size_t size)
{
    snprintf(out, size, "%s/mlaunch-%u", base, (unsigned)geteuid());
}

static void makes_two_apart_and_removes_them(void **state)
{
    char a[JOB_DIRECTORY_PATH], b[JOB_DIRECTORY_PATH], user[128], inner[256];
    struct fault why = {0};
    struct stat st;
    char text[9];

    (void)state;
    user_directory(user, sizeof(user));
    assert_int_equal(job_directory_create(a, base, "job", 0, &why), 0);
    assert_int_equal(job_directory_create(b, base, "job", 0, &why), 0);
    assert_string_not_equal(a, b);
    assert_int_equal(strncmp(a, user, strlen(user)), 0);
    assert_int_equal(stat(user, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    assert_int_equal(stat(a, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);

    assert_int_equal(job_file_put(a, "file", "text", &why), 0);
    snprintf(inner, sizeof(inner), "%s/file", a);
    assert_int_equal(stat(inner, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    snprintf(inner, sizeof(inner), "%s/inner", a);
    assert_int_equal(mkdir(inner, 0700), 0);
    snprintf(inner, sizeof(inner), "%s/inner/link", a);
    assert_int_equal(symlink(b, inner), 0);

    assert_false(job_directory_rank_is_broken(a, 3, text, sizeof(text)));
    assert_string_equal(text, "");
    assert_int_equal(job_file_put(a, "rank.3.broken", "", &why), 0);
    assert_true(job_directory_rank_is_broken(a, 3, text, sizeof(text)));
    assert_string_equal(text, "");
    assert_int_equal(job_file_put(a, "rank.3.broken", "rank 2\nis gone", &why), 0);
    assert_true(job_directory_rank_is_broken(a, 3, text, sizeof(text)));
    assert_string_equal(text, "rank 2 i");

    job_directory_remove(a);
    assert_int_not_equal(access(a, F_OK), 0);
    assert_int_equal(access(b, F_OK), 0); /* links are not followed */
    job_directory_remove(b);
    assert_int_not_equal(access(user, F_OK), 0);
}

/* After a restart both runs of a job may share /dev/shm. */
static void sweeps_what_is_its_own(void **state)
{
    char dirs[2][JOB_DIRECTORY_PATH], segments[2][2 * JOB_DIRECTORY_PATH];
    struct fault why = {0};

    (void)state;
    for (int i = 0; i < 2; i++) {
        FILE *f;

        assert_int_equal(job_directory_create(dirs[i], base, "job", 0, &why), 0);
        snprintf(segments[i], sizeof(segments[i]), "/dev/shm/mlaunch-%u-%s.g1.1.key",
                 (unsigned)geteuid(), strrchr(dirs[i], '/') + 1);
        f = fopen(segments[i], "w");
        assert_non_null(f);
        fclose(f);
    }
    job_directory_sweep_shm(dirs[0]);
    assert_int_not_equal(access(segments[0], F_OK), 0);
    assert_int_equal(access(segments[1], F_OK), 0);
    job_directory_sweep_shm(dirs[1]);
    assert_int_not_equal(access(segments[1], F_OK), 0);
    for (int i = 0; i < 2; i++)
        job_directory_remove(dirs[i]);
}

/* Something else has the user's name: the job directory is then in another. */
static void taken(const char *user)
{
    char path[JOB_DIRECTORY_PATH], parent[JOB_DIRECTORY_PATH];
    struct fault why = {0};
    struct stat st;

    assert_int_equal(job_directory_create(path, base, "job", 0, &why), 0);
    snprintf(parent, sizeof(parent), "%s", path);
    *strrchr(parent, '/') = '\0';
    assert_int_equal(strncmp(parent, user, strlen(user)), 0);
    assert_int_equal(parent[strlen(user)], '.');
    assert_int_equal(user_directory_length(strrchr(parent, '/') + 1),
                     strlen(strrchr(parent, '/') + 1));
    assert_int_equal(lstat(parent, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0700);
    assert_int_equal(st.st_uid, geteuid());
    job_directory_remove(path);
    assert_int_not_equal(access(parent, F_OK), 0);
}

static void goes_beside_an_unsafe_user_directory(void **state)
{
    char user[128];

    (void)state;
    user_directory(user, sizeof(user));
    assert_int_equal(mkdir(user, 0755), 0);
    taken(user);
    assert_int_equal(rmdir(user), 0);

    assert_int_equal(symlink("/tmp", user), 0);
    taken(user);
    assert_int_equal(unlink(user), 0);

    if (geteuid() == 0) { /* only root can give a directory away */
        assert_int_equal(mkdir(user, 0700), 0);
        assert_int_equal(chown(user, 12345, 0), 0);
        taken(user);
        assert_int_equal(rmdir(user), 0);
    }
}

static void knows_the_names_of_user_directories(void **state)
{
    static const struct {
        const char *name;
        size_t length;
    } cases[] = {
        {"mlaunch-0", 9},
        {"mlaunch-1000.aZ09bc", 19},
        {"mlaunch-0-job.3.aaaaaa", 9},
        {"mlaunch-0.aaaaaa-job.3.aaaaaa", 16},
        {"mlaunch-0.aaaaa", 9},
        {"mlaunch-0.aaaaaaa", 9},
        {"mlaunch-0.aaaaa/", 9},
        {"mlaunch-", 0},
        {"mlaunch-x", 0},
        {"mlaunch", 0},
        {"xmlaunch-0", 0},
        {"", 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_int_equal(user_directory_length(cases[i].name), cases[i].length);
}

static int setup(void **state)
{
    (void)state;
    return mkdtemp(base) ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    return rmdir(base); /* empty: nothing is left behind */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(makes_two_apart_and_removes_them),
        cmocka_unit_test(sweeps_what_is_its_own),
        cmocka_unit_test(goes_beside_an_unsafe_user_directory),
        cmocka_unit_test(knows_the_names_of_user_directories),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}

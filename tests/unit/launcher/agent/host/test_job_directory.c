/* SPDX-License-Identifier: MIT */
/* test_job_directory.c: made 0700 below a safe directory; removed with its contents. */
#include "launcher/agent/host/job_directory.h"

#include "common/net/job_file.h"
#include "launcher/base/machine/place_lock.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { NAMES = 40000, STRANGER = 12345 };

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
    job_directory_sweep_shm(dirs[0], true);
    assert_int_not_equal(access(segments[0], F_OK), 0);
    assert_int_equal(access(segments[1], F_OK), 0);
    job_directory_sweep_shm(dirs[1], false);
    assert_int_not_equal(access(segments[1], F_OK), 0);
    for (int i = 0; i < 2; i++)
        job_directory_remove(dirs[i]);
}

static void segment_call(char *out, size_t size, const char *dir, const char *rest)
{
    snprintf(out, size, "/dev/shm/mlaunch-%u-%s.%s", (unsigned)geteuid(), strrchr(dir, '/') + 1,
             rest);
}

static void segment_make(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    close(fd);
}

/* Anybody may make names in /dev/shm that begin so. */
static void leaves_what_another_user_has_made_there(void **state)
{
    char dir[JOB_DIRECTORY_PATH], segment[2 * JOB_DIRECTORY_PATH], file[3 * JOB_DIRECTORY_PATH];
    struct fault why = {0};

    (void)state;
    if (geteuid() != 0)
        skip(); /* only root can give a directory away */
    assert_int_equal(job_directory_create(dir, base, "job", 0, &why), 0);
    segment_call(segment, sizeof(segment), dir, "strangers");
    snprintf(file, sizeof(file), "%s/file", segment);
    assert_int_equal(mkdir(segment, 0755), 0);
    segment_make(file);
    assert_int_equal(chown(segment, STRANGER, 0), 0);
    job_directory_sweep_shm(dir, false);
    assert_int_equal(access(file, F_OK), 0);
    assert_int_equal(chown(segment, 0, 0), 0);
    job_directory_sweep_shm(dir, false);
    assert_int_not_equal(access(segment, F_OK), 0);
    job_directory_remove(dir);
}

static void looks_old(const char *path)
{
    const struct timespec old[2] = {{.tv_sec = 1}, {.tv_sec = 1}};

    assert_int_equal(utimensat(AT_FDCWD, path, old, 0), 0);
}

static bool is_old(const char *path)
{
    struct stat st;

    assert_int_equal(stat(path, &st), 0);
    return st.st_mtime == 1 || st.st_atime == 1;
}

static void touches_what_lives(void **state)
{
    char dir[JOB_DIRECTORY_PATH], file[JOB_DIRECTORY_PATH + 8], user[128];
    struct fault why = {0};

    (void)state;
    user_directory(user, sizeof(user));
    assert_int_equal(job_directory_create(dir, base, "job", 0, &why), 0);
    assert_int_equal(job_file_put(dir, "file", "text", &why), 0);
    snprintf(file, sizeof(file), "%s/file", dir);
    looks_old(file);
    looks_old(dir);
    looks_old(user);
    job_directory_touch(dir);
    assert_false(is_old(file));
    assert_false(is_old(dir));
    assert_false(is_old(user));
    job_directory_remove(dir);
}

static bool is_locked(const char *path)
{
    return place_lock_is_held(AT_FDCWD, path);
}

static void locks_what_an_agent_uses(void **state)
{
    char dir[JOB_DIRECTORY_PATH], shm[2 * JOB_DIRECTORY_PATH], user[128], link[JOB_DIRECTORY_PATH];
    int locks[JOB_DIRECTORY_LOCKS] = JOB_DIRECTORY_UNLOCKED;
    struct fault why = {0};
    bool is_made;

    (void)state;
    user_directory(user, sizeof(user));
    snprintf(link, sizeof(link), "%s/mlaunch-%u", user_directory_base(), (unsigned)geteuid());
    assert_int_equal(job_directory_create(dir, base, "job", 0, &why), 0);
    job_directory_link(dir);
    segment_call(shm, sizeof(shm), dir, JOB_DIRECTORY_LOCK);
    job_directory_lock(dir, locks);
    assert_true(is_locked(dir) && is_locked(user) && is_locked(shm) && is_locked(link));

    /* What is made again is locked again. */
    job_directory_remove(dir);
    assert_int_equal(job_directory_restore(dir, &is_made, &why), 0);
    assert_true(is_made);
    assert_false(is_locked(dir));
    job_directory_lock(dir, locks);
    assert_true(is_locked(dir) && is_locked(user) && is_locked(shm));
    assert_int_equal(job_directory_restore(dir, &is_made, &why), 0);
    assert_false(is_made);

    job_directory_unlock(locks);
    assert_false(is_locked(dir) || is_locked(user) || is_locked(shm));
    job_directory_sweep_shm(dir, false);
    assert_int_not_equal(access(shm, F_OK), 0);
    job_directory_remove(dir);
}

static void makes_nothing_again_where_others_may_write(void **state)
{
    char dir[JOB_DIRECTORY_PATH], user[128];
    struct fault why = {0};
    bool is_made;

    (void)state;
    user_directory(user, sizeof(user));
    assert_int_equal(job_directory_create(dir, base, "job", 0, &why), 0);
    job_directory_remove(dir);
    assert_int_equal(mkdir(user, 0755), 0);
    assert_int_equal(job_directory_restore(dir, &is_made, &why), ML_ERR_SYSTEM);
    assert_false(is_made);
    assert_non_null(strstr(why.text, "is no longer a directory of yours that is closed to others"));
    assert_int_equal(rmdir(user), 0);
}

static int64_t thread_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static void hurries_where_there_are_very_many_names(void **state)
{
    char dir[JOB_DIRECTORY_PATH], segment[2 * JOB_DIRECTORY_PATH], name[16];
    struct fault why = {0};
    int64_t begin, taken;
    int left = 0;

    (void)state;
    assert_int_equal(job_directory_create(dir, base, "job", 0, &why), 0);
    for (int i = 0; i < NAMES; i++) {
        snprintf(name, sizeof(name), "%d", i);
        segment_call(segment, sizeof(segment), dir, name);
        segment_make(segment);
    }
    begin = thread_us();
    job_directory_sweep_shm(dir, true);
    taken = thread_us() - begin;
    for (int i = 0; i < NAMES; i++) {
        snprintf(name, sizeof(name), "%d", i);
        segment_call(segment, sizeof(segment), dir, name);
        left += access(segment, F_OK) == 0;
    }
    job_directory_sweep_shm(dir, false);
    assert_int_not_equal(access(segment, F_OK), 0);
    job_directory_remove(dir);
    assert_true(taken < 50000);
    assert_in_range(left, 1, NAMES - 1);
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
        cmocka_unit_test(leaves_what_another_user_has_made_there),
        cmocka_unit_test(touches_what_lives),
        cmocka_unit_test(locks_what_an_agent_uses),
        cmocka_unit_test(makes_nothing_again_where_others_may_write),
        cmocka_unit_test(hurries_where_there_are_very_many_names),
        cmocka_unit_test(goes_beside_an_unsafe_user_directory),
        cmocka_unit_test(knows_the_names_of_user_directories),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}

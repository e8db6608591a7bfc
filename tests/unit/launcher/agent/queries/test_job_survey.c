/* SPDX-License-Identifier: MIT */
/* test_job_survey.c: a job that begins or ends while the survey is made does not look dead; one
 * whose agent is gone does, as long as it has its directory. */
#include "launcher/agent/queries/job_survey.h"

#include "launcher/base/machine/pid_domain_linux.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { SURVEYS = 100, JOBS = 8 };

static char base[] = "/tmp/mlaunch-unit.XXXXXX";

/* A process that is a job's agent. */
static pid_t agent_start(void)
{
    pid_t pid = fork();

    if (pid == 0)
        for (;;)
            pause();
    return pid;
}

static void agent_end(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static bool job_begin(char dir[JOB_DIRECTORY_PATH], pid_t agent)
{
    static const uint8_t secret[AUTH_SECRET] = {0};
    struct job_file file = {.job = "job", .agent_pid = agent};
    struct process p;
    struct fault why;

    pid_domain_write(&file);
    if (!process_read(&p, agent) || job_directory_create(dir, base, "job", 0, &why))
        return false;
    file.agent_start_time = p.start_time;
    return job_file_write(dir, &file, secret, &why) == 0;
}

/* Some jobs begin, and after a byte of `told` they end one after the other as agents end them: the
 * directory goes first. */
static void jobs_run(int told, int tell)
{
    char dirs[JOBS][JOB_DIRECTORY_PATH], byte;
    pid_t agents[JOBS];
    bool is_over = false;

    while (!is_over) {
        for (int i = 0; i < JOBS; i++) {
            agents[i] = agent_start();
            if (agents[i] < 0 || !job_begin(dirs[i], agents[i]))
                abort();
        }
        is_over = write(tell, "", 1) != 1 || read(told, &byte, 1) != 1;
        for (int i = 0; i < JOBS; i++) {
            job_directory_remove(dirs[i]);
            agent_end(agents[i]);
        }
    }
    _exit(0);
}

static void jobs_that_end_meanwhile(void **state)
{
    int live = 0, dead = 0, go[2], ready[2];
    pid_t pid;
    char byte;

    (void)state;
    assert_int_equal(pipe(go), 0);
    assert_int_equal(pipe(ready), 0);
    pid = fork();
    if (pid == 0) {
        close(go[1]);
        jobs_run(go[0], ready[1]);
    }
    close(ready[1]);
    for (int i = 0; i < SURVEYS; i++) {
        struct job_survey *s;
        struct fault why;

        assert_int_equal(read(ready[0], &byte, 1), 1);
        assert_int_equal(write(go[1], "", 1), 1);
        assert_int_equal(job_survey_open(&s, base, &why), 0);
        for (int k = 0; k < s->job_count; k++) {
            live += s->jobs[k].state == JOB_SURVEY_LIVE;
            dead += s->jobs[k].state == JOB_SURVEY_STALE;
        }
        job_survey_close(s);
    }
    close(go[1]);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    close(go[0]);
    close(ready[0]);
    print_message("# %d surveys saw %d live jobs\n", SURVEYS, live);
    assert_int_equal(dead, 0);
}

static void expect_state(enum job_survey_state state)
{
    struct job_survey *s;
    struct fault why;

    assert_int_equal(job_survey_open(&s, base, &why), 0);
    assert_int_equal(s->job_count, 1);
    assert_int_equal(s->jobs[0].state, state);
    job_survey_close(s);
}

static void a_job_whose_agent_is_gone(void **state)
{
    char dir[JOB_DIRECTORY_PATH];
    pid_t agent = agent_start();

    (void)state;
    assert_true(job_begin(dir, agent));
    expect_state(JOB_SURVEY_LIVE);
    agent_end(agent);
    expect_state(JOB_SURVEY_STALE);
    job_directory_remove(dir);
}

static void directories_make(const char *parent, const char *format, int count, uid_t user)
{
    static const struct timespec long_ago[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
    char path[256];

    for (int i = 0; i < count; i++) {
        int at = snprintf(path, sizeof(path), "%s/", parent);

        snprintf(path + at, sizeof(path) - (size_t)at, format, i);
        assert_int_equal(mkdir(path, 0755), 0);
        assert_int_equal(chown(path, user, user), 0);
        assert_int_equal(utimensat(AT_FDCWD, path, long_ago, 0), 0);
    }
}

static void directories_remove(const char *parent, const char *format, int count)
{
    char path[256];

    for (int i = 0; i < count; i++) {
        int at = snprintf(path, sizeof(path), "%s/", parent);

        snprintf(path + at, sizeof(path) - (size_t)at, format, i);
        rmdir(path);
    }
}

/* Another user makes directories without end, in theirs and beside that: of each user some are
 * shown, and the own jobs are all found. */
static void test_many_of_another(void **state)
{
    enum { MANY = 3000, OTHER = 65533 };
    char dir[JOB_DIRECTORY_PATH], other[128];
    pid_t agent = agent_start();
    struct job_survey *s;
    struct fault why;
    int own = 0;

    (void)state;
    if (geteuid() != 0)
        skip(); /* it cannot be another user */
    assert_true(job_begin(dir, agent));
    snprintf(other, sizeof(other), "%s/mlaunch-%d", base, OTHER);
    assert_int_equal(mkdir(other, 0755), 0);
    assert_int_equal(chown(other, OTHER, OTHER), 0);
    directories_make(other, "j%d.0.abcdef", MANY, OTHER);
    assert_int_equal(job_survey_open(&s, base, &why), 0);
    assert_int_equal(s->job_count, 1 + JOB_SURVEY_OTHERS_JOBS);
    job_survey_close(s);
    directories_make(base, "mlaunch-65533.%06d", MANY, OTHER);
    directories_make(base, "mlaunch-0.%06d", MANY, OTHER);
    assert_int_equal(job_survey_open(&s, base, &why), 0);
    for (int i = 0; i < s->job_count; i++)
        own += s->jobs[i].user == 0 && s->jobs[i].state == JOB_SURVEY_LIVE;
    assert_int_equal(own, 1);
    assert_true(s->job_count <= 1 + JOB_SURVEY_OTHERS_JOBS);
    job_survey_close(s);
    assert_int_equal(job_survey_open_own(&s, base, &why), 0);
    assert_int_equal(s->job_count, 1);
    assert_string_equal(s->jobs[0].dir, dir);
    job_survey_close(s);
    agent_end(agent);
    job_directory_remove(dir);
    directories_remove(other, "j%d.0.abcdef", MANY);
    directories_remove(base, "mlaunch-65533.%06d", MANY);
    directories_remove(base, "mlaunch-0.%06d", MANY);
    rmdir(other);
}

static int teardown(void **state)
{
    (void)state;
    return rmdir(base); /* nothing is left in it */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_whose_agent_is_gone),
        cmocka_unit_test(jobs_that_end_meanwhile),
        cmocka_unit_test(test_many_of_another),
    };

    if (!mkdtemp(base))
        return 1;
    return cmocka_run_group_tests(tests, NULL, teardown);
}

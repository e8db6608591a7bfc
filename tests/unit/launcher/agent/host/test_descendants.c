/* SPDX-License-Identifier: MIT */
/* test_descendants.c: descendants that try to get lost, on a kernel that tells which children a
 * process has, and on one that does not. */
#include "launcher/agent/host/descendants_linux.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { CHILDREN = 300, LIMIT_S = 60 };

FILE *__real_fopen(const char *path, const char *mode);
FILE *__wrap_fopen(const char *path, const char *mode);
static bool has_children_files = true;

FILE *__wrap_fopen(const char *path, const char *mode)
{
    const char *name = strrchr(path, '/');

    if (!has_children_files && name && strcmp(name, "/children") == 0) {
        errno = ENOENT;
        return NULL;
    }
    return __real_fopen(path, mode);
}

/* What fopen is in files with config.h, which asks for large files. */
FILE *__wrap_fopen64(const char *path, const char *mode);

FILE *__wrap_fopen64(const char *path, const char *mode)
{
    return __wrap_fopen(path, mode);
}

/* Calls of opendir("/proc"): all processes of the machine are looked through. */
static int looks;

DIR *__real_opendir(const char *path);
DIR *__wrap_opendir(const char *path);

DIR *__wrap_opendir(const char *path)
{
    looks += strcmp(path, "/proc") == 0;
    return __real_opendir(path);
}

/* Pids that processes below this one have sent. */
static int pids[2];

static void pid_say(void)
{
    pid_t self = getpid();

    if (write(pids[1], &self, sizeof(self)) != sizeof(self))
        _exit(1);
}

static pid_t pid_hear(void)
{
    pid_t pid;

    assert_int_equal(read(pids[0], &pid, sizeof(pid)), sizeof(pid));
    return pid;
}

_Noreturn static void rest(void)
{
    alarm(LIMIT_S);
    pid_say();
    for (;;)
        pause();
}

static void fork_resting(void)
{
    if (fork() == 0)
        rest();
}

static void *thread_forks(void *unused)
{
    fork_resting();
    for (;;)
        pause();
    return unused;
}

/* A daemon: its parent has ended, and it has a session of its own. */
static void daemon_fork(void)
{
    pid_t middle = fork();

    if (middle == 0) {
        setsid();
        fork_resting();
        _exit(0);
    }
    assert_int_equal(waitpid(middle, NULL, 0), middle);
}

/* A process whose other thread has a child. */
static void threads_fork(void)
{
    pthread_t thread;

    if (fork())
        return;
    if (pthread_create(&thread, NULL, thread_forks, NULL))
        _exit(1);
    rest();
}

static void chain_fork(int length)
{
    if (fork())
        return;
    if (length > 1)
        chain_fork(length - 1);
    rest();
}

static void all_end(const pid_t *expected, size_t count)
{
    while (descendants_exist()) {
        struct process_list found;

        assert_int_equal(descendants_find(&found, NULL), 0);
        descendants_signal(&found, SIGKILL);
        process_list_free(&found);
        while (waitpid(-1, NULL, WNOHANG) > 0)
            ;
    }
    for (size_t i = 0; i < count; i++)
        assert_int_equal(kill(expected[i], 0), -1);
}

/* Expects these `count` and no other, and ends them. */
static void expect_found(const pid_t *expected, size_t count)
{
    struct process_list found;

    assert_int_equal(descendants_find(&found, NULL), 0);
    assert_int_equal(found.count, count);
    for (size_t i = 0; i < count; i++)
        assert_non_null(process_list_find(&found, expected[i]));
    process_list_free(&found);
    all_end(expected, count);
}

static void family_is_found(void)
{
    pid_t expected[6], zombie = fork();
    siginfo_t info;

    if (zombie == 0)
        _exit(0);
    assert_int_equal(waitid(P_PID, (id_t)zombie, &info, WEXITED | WNOWAIT), 0);
    daemon_fork();
    threads_fork();
    chain_fork(3);
    for (int i = 0; i < 6; i++)
        expected[i] = pid_hear();
    expect_found(expected, 6);
}

static void many_are_found(void)
{
    pid_t expected[CHILDREN];

    for (int i = 0; i < CHILDREN; i++)
        fork_resting();
    for (int i = 0; i < CHILDREN; i++)
        expected[i] = pid_hear();
    expect_found(expected, CHILDREN);
}

static void test_children_told(void **state)
{
    (void)state;
    looks = 0;
    family_is_found();
    many_are_found();
    assert_int_equal(looks, 0);
}

static void test_children_not_told(void **state)
{
    (void)state;
    has_children_files = false;
    family_is_found();
    many_are_found();
    assert_true(looks > 0);
    has_children_files = true;
}

/* A child forks after it was found. Its group, whose leader has ended, is signalled as a whole, so
 * that the new process gets the signal, too. */
static void test_group_without_leader(void **state)
{
    struct process_list found;
    pid_t leader = fork(), child, born;
    siginfo_t info;
    int go[2];

    (void)state;
    if (leader == 0)
        _exit(setpgid(0, 0));
    assert_int_equal(pipe(go), 0);
    assert_int_equal(waitid(P_PID, (id_t)leader, &info, WEXITED | WNOWAIT), 0);
    child = fork();
    if (child == 0) {
        char byte;

        close(go[1]);
        if (setpgid(0, leader))
            _exit(1);
        pid_say();
        if (read(go[0], &byte, 1) == 0)
            fork();
        rest();
    }
    assert_int_equal(pid_hear(), child);
    assert_int_equal(waitpid(leader, NULL, 0), leader);
    assert_int_equal(descendants_find(&found, NULL), 0);
    close(go[0]);
    close(go[1]);
    born = pid_hear();
    born = born == child ? pid_hear() : (pid_hear(), born);
    descendants_signal(&found, SIGKILL);
    process_list_free(&found);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(waitpid(born, NULL, 0), born); /* handed over to this process */
    assert_false(descendants_exist());
}

static void test_nobody(void **state)
{
    struct process_list found = {0};

    (void)state;
    assert_int_equal(descendants_find(&found, NULL), 0);
    assert_int_equal(found.count, 0);
    process_list_free(&found);
}

static int set_up(void **state)
{
    (void)state;
    alarm(LIMIT_S);
    return prctl(PR_SET_CHILD_SUBREAPER, 1) || pipe(pids) ? -1 : 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nobody),
        cmocka_unit_test(test_children_told),
        cmocka_unit_test(test_children_not_told),
        cmocka_unit_test(test_group_without_leader),
    };

    return cmocka_run_group_tests(tests, set_up, NULL);
}

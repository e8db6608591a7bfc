/* SPDX-License-Identifier: MIT */
/* test_clock.c: a process that is stopped while it waits until a moment. */
#include "common/clock.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { WAIT_MS = 1200, STOP_MS = 2500, COUNTED_MS = 1000 /* no more of it */ };

/* The process's state, as /proc says it. */
static char state_of(pid_t pid)
{
    char path[64], state = '?';
    FILE *f;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    f = fopen(path, "re");
    if (f && fscanf(f, "%*d (%*[^)]) %c", &state) != 1)
        state = '?';
    if (f)
        fclose(f);
    return state;
}

/* Waits until its deadline. 0: all of it, and the stop not. */
static int wait_once(void)
{
    int64_t begin_ms = clock_ns() / 1000000, deadline_ms = clock_ms() + WAIT_MS;

    if (clock_poll(NULL, 0, deadline_ms) != 0 || clock_ms() < deadline_ms)
        return 1;
    return clock_ns() / 1000000 - begin_ms >= WAIT_MS + STOP_MS - COUNTED_MS ? 0 : 2;
}

/* A process that has been stopped while it waits. */
static pid_t stopped_start(void)
{
    int status;

    for (;;) { /* on a busy machine it may have ended before the signal came */
        pid_t pid = fork();

        if (pid == 0)
            _exit(wait_once());
        while (state_of(pid) != 'S' && state_of(pid) != 'Z')
            poll(NULL, 0, 1);
        kill(pid, SIGSTOP);
        assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
        if (WIFSTOPPED(status))
            return pid;
    }
}

static void test_stop(void **state)
{
    pid_t pid = stopped_start();
    int status;

    (void)state;
    poll(NULL, 0, STOP_MS); /* the length of the stop is the subject */
    kill(pid, SIGCONT);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static void test_ready(void **state)
{
    int ends[2];
    struct pollfd p;

    (void)state;
    assert_int_equal(pipe(ends), 0);
    p = (struct pollfd){.fd = ends[0], .events = POLLIN};
    assert_int_equal(clock_poll(&p, 1, clock_ms()), 0);
    assert_int_equal(clock_poll(&p, 1, clock_ms() - 1000), 0);
    assert_int_equal(write(ends[1], "x", 1), 1);
    assert_int_equal(clock_poll(&p, 1, -1), 1);
    assert_int_equal(clock_poll(&p, 1, clock_ms() + 100000), 1);
    assert_true(p.revents & POLLIN);
    close(ends[0]);
    close(ends[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stop),
        cmocka_unit_test(test_ready),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

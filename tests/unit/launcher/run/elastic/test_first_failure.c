/* SPDX-License-Identifier: MIT */
/* test_first_failure.c: which failure is reported, in which words, with which exit status. */
#include "launcher/run/elastic/first_failure.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct exited_report ended(int rank, int status, int signal)
{
    return (struct exited_report){.rank = rank, .pid = 4711, .status = status, .signal = signal};
}

static void assert_blamed(const struct first_failure *f, int status, const char *text)
{
    assert_string_equal(f->text, text);
    assert_int_equal(f->status, status);
}

static void test_sentences(void **state)
{
    struct exited_report r = ended(2, 0, 11);
    char text[1024];

    (void)state;
    first_failure_describe(text, sizeof(text), &r, "b");
    assert_string_equal(text,
                        "rank 2 on host b (pid 4711) was killed by signal 11 (Segmentation fault)");
    r.core = true;
    first_failure_describe(text, sizeof(text), &r, "b");
    assert_non_null(strstr(text, "(Segmentation fault); core dumped"));
    snprintf(r.core_file, sizeof(r.core_file), "/tmp/core.4711");
    first_failure_describe(text, sizeof(text), &r, "b");
    assert_non_null(strstr(text, "; core file /tmp/core.4711"));
    r = ended(0, 3, 0);
    first_failure_describe(text, sizeof(text), &r, "b");
    assert_string_equal(text, "rank 0 on host b (pid 4711) exited with status 3");
    snprintf(r.lost, sizeof(r.lost), "rank 2 exited with status 0");
    first_failure_describe(text, sizeof(text), &r, "b");
    assert_string_equal(
        text, "rank 0 on host b (pid 4711) exited with status 3 because it had lost a peer: rank 2 "
              "exited with status 0");
    r = ended(0, 127, 0);
    snprintf(r.error, sizeof(r.error), "prog: not found in PATH (/bin)");
    first_failure_describe(text, sizeof(text), &r, "b");
    assert_string_equal(text,
                        "rank 0 on host b could not be started: prog: not found in PATH (/bin)");
    /* Cut, never overrun. */
    first_failure_describe(text, 12, &r, "b");
    assert_string_equal(text, "rank 0 on h");
}

static void test_cause_before_consequence(void **state)
{
    struct first_failure f = {0};
    struct exited_report consequence = ended(0, 1, 0), ours = ended(1, 0, 15),
                         fine = ended(2, 0, 0), cause = ended(3, 9, 0), later = ended(4, 8, 0);

    (void)state;
    consequence.consequence = true;
    ours.ended_by_us = true;
    assert_int_equal(first_failure_exited(&f, &fine, "a"), BLAME_NONE);
    assert_int_equal(f.blame, BLAME_NONE);
    assert_int_equal(first_failure_exited(&f, &ours, "a"), BLAME_ENDED_BY_US);
    assert_blamed(&f, 143, "rank 1 on host a (pid 4711) was killed by signal 15 (Terminated)");
    assert_int_equal(first_failure_exited(&f, &consequence, "a"), BLAME_CONSEQUENCE);
    assert_blamed(&f, 1, "rank 0 on host a (pid 4711) exited with status 1");
    assert_int_equal(first_failure_exited(&f, &cause, "b"), BLAME_CAUSE);
    assert_blamed(&f, 9, "rank 3 on host b (pid 4711) exited with status 9");
    assert_int_equal(first_failure_exited(&f, &later, "b"), BLAME_CAUSE);
    first_failure_lost(&f, BLAME_CAUSE, "c", "its cable");
    assert_blamed(&f, 9, "rank 3 on host b (pid 4711) exited with status 9");
}

/* mlaunch sends SIGTERM when a consequence is reported before its cause, but it never sends
 * SIGSEGV. */
static void test_crash_is_its_own(void **state)
{
    struct first_failure f = {0};
    struct exited_report consequence = ended(0, 1, 0), crash = ended(1, 0, 11);

    (void)state;
    consequence.consequence = true;
    crash.ended_by_us = true;
    first_failure_exited(&f, &consequence, "a");
    assert_int_equal(first_failure_exited(&f, &crash, "b"), BLAME_CAUSE);
    assert_int_equal(f.status, 139);
    assert_int_equal(f.rank, 1);
}

/* The exit of a rank that aborts may be reported before its reason. */
static void test_abort_after_exit(void **state)
{
    struct aborted_report why = {.rank = 2, .status = 9, .why = "as asked"};
    struct exited_report r = ended(2, 9, 0);
    struct first_failure f = {0};

    (void)state;
    first_failure_exited(&f, &r, "b");
    first_failure_aborted(&f, &why, "b", 4711);
    assert_blamed(&f, 9, "rank 2 on host b (pid 4711) aborted the job: as asked");
    why.rank = 1;
    first_failure_aborted(&f, &why, "a", 4712);
    assert_int_equal(f.rank, 2);
}

static void test_abort_and_loss(void **state)
{
    struct first_failure f = {0}, g = {0};
    struct aborted_report abort = {.rank = 5, .status = 3, .why = "no input"};

    (void)state;
    first_failure_aborted(&f, &abort, "b", 77);
    assert_blamed(&f, 3, "rank 5 on host b (pid 77) aborted the job: no input");
    first_failure_lost(&g, BLAME_CAUSE, "b", "nothing was heard from its agent for 10 s");
    assert_blamed(&g, 125, "host b was lost: nothing was heard from its agent for 10 s");
    assert_int_equal(g.rank, -1);
    memset(&f, 0, sizeof(f));
    abort.status = 256;
    first_failure_aborted(&f, &abort, "b", 77);
    assert_int_equal(f.status, 1); /* never a success */
}

/* Rank 0's host "a" dies: "b" and "c" lose the coordinator, and a rank of "b" its peer. Whatever is
 * reported first, "a" is named. */
static void test_coordinator_host_dies(void **state)
{
    enum { EVENTS = 4 };

    (void)state;
    for (int order = 0; order < EVENTS * EVENTS * EVENTS * EVENTS; order++) {
        struct first_failure f = {0};
        struct exited_report consequence = ended(1, 3, 0);
        int event[EVENTS], seen = 0;

        for (int i = 0, rest = order; i < EVENTS; i++, rest /= EVENTS)
            seen |= 1 << (event[i] = rest % EVENTS);
        if (seen != (1 << EVENTS) - 1)
            continue; /* not a permutation */
        consequence.consequence = true;
        for (int i = 0; i < EVENTS; i++) {
            if (event[i] == 0)
                first_failure_lost(&f, BLAME_CAUSE, "a", "the connection ended");
            else if (event[i] == 1)
                first_failure_lost(&f, BLAME_CUT_OFF, "b", "the job's coordinator: closed");
            else if (event[i] == 2)
                first_failure_lost(&f, BLAME_CUT_OFF, "c", "the job's coordinator: closed");
            else
                first_failure_exited(&f, &consequence, "b");
        }
        assert_int_equal(f.blame, BLAME_CAUSE);
        assert_blamed(&f, 125, "host a was lost: the connection ended");
    }
}

/* The coordinator's host tells that too few ranks go on before that of the others tells why. */
static void test_shrunk_before_its_cause(void **state)
{
    struct first_failure f = {0};

    (void)state;
    first_failure_shrunk(&f, 4, 6, 5);
    assert_blamed(&f, 125, "2 of 6 ranks have left the others, and 4 are not enough (--elastic 5)");
    first_failure_lost(&f, BLAME_CAUSE, "c", "it was asked to leave");
    assert_blamed(&f, 125, "host c was lost: it was asked to leave");
    first_failure_shrunk(&f, 4, 6, 5);
    assert_blamed(&f, 125, "host c was lost: it was asked to leave");
}

/* If only the way to the coordinator was lost, the first host that has lost it is named. */
static void test_cut_off(void **state)
{
    struct first_failure f = {0};
    struct exited_report consequence = ended(1, 3, 0), ours = ended(0, 0, 15);

    (void)state;
    consequence.consequence = true;
    ours.ended_by_us = true;
    first_failure_exited(&f, &consequence, "b");
    first_failure_lost(&f, BLAME_CUT_OFF, "b", "the job's coordinator: no answer in time");
    first_failure_lost(&f, BLAME_CUT_OFF, "c", "the job's coordinator: no answer in time");
    first_failure_exited(&f, &consequence, "c");
    first_failure_exited(&f, &ours, "a");
    assert_int_equal(f.blame, BLAME_CUT_OFF);
    assert_blamed(&f, 125, "host b was lost: the job's coordinator: no answer in time");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sentences),
        cmocka_unit_test(test_cause_before_consequence),
        cmocka_unit_test(test_crash_is_its_own),
        cmocka_unit_test(test_abort_after_exit),
        cmocka_unit_test(test_abort_and_loss),
        cmocka_unit_test(test_coordinator_host_dies),
        cmocka_unit_test(test_shrunk_before_its_cause),
        cmocka_unit_test(test_cut_off),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* test_crowding.c: children that have too few processors. */
#include "launcher/agent/binding/crowding_linux.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { CHILDREN = 4 };

/* Counted at calls 2 and 4, and not at 1 and 3. */
static struct crowding counted(int ranks, int processors)
{
    struct crowding c = {0};

    for (int i = 0; i < 3; i++)
        crowding_tick(&c, ranks, processors);
    assert_false(crowding_is_lasting(&c));
    crowding_tick(&c, ranks, processors);
    return c;
}

static void too_many_threads(void **state)
{
    pid_t pids[CHILDREN];
    struct crowding c;

    (void)state;
    for (int i = 0; i < CHILDREN; i++) {
        pids[i] = fork();
        if (pids[i] == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            for (;;) /* runs, or waits for a processor */
                ;
        }
    }
    c = counted(2, 2);
    assert_true(crowding_is_lasting(&c));
    assert_in_range(c.threads, 3, CHILDREN);
    assert_int_equal(c.ranks, 2);
    assert_int_equal(c.processors, 2);
    c = counted(2, CHILDREN);
    assert_false(crowding_is_lasting(&c)); /* they have enough */
    c = counted(CHILDREN, 1);
    assert_false(crowding_is_lasting(&c)); /* one thread each: as asked for */
    c = counted(0, 1);
    assert_int_equal(c.crowded, 0);
    for (int i = 0; i < CHILDREN; i++) {
        kill(pids[i], SIGKILL);
        waitpid(pids[i], NULL, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(too_many_threads)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* test_interrupted.c: signals that interrupt all system calls, again and again.
 * TEST_TIER=quick */
#include "tests/runtime/test_job.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/time.h>

#include <cmocka.h>

enum { COUNT = 20000, FAR = 1000 };

static void on_alarm(int signal)
{
    (void)signal;
}

/* Without SA_RESTART, so that a call that waits returns EINTR. A busy machine gets on, too, with a
 * period that leaves it time. */
static void be_interrupted(void)
{
    int period_us = getenv("MLAUNCH_TEST_LONG") ? 50 : 1000;
    const struct itimerval often = {.it_interval.tv_usec = period_us,
                                    .it_value.tv_usec = period_us};
    const struct sigaction action = {.sa_handler = on_alarm};

    REQUIRE(sigaction(SIGALRM, &action, NULL) == 0);
    REQUIRE(setitimer(ITIMER_REAL, &often, NULL) == 0);
}

static void check_calls(ml_group *g, int rank, int round)
{
    static double in[COUNT], out[COUNT];
    int next = (rank + 1) % 4, last = (rank + 3) % 4, got = -1, mine = 100 * round + rank;
    ml_request *request;

    for (int i = 0; i < COUNT; i++)
        in[i] = rank + i % 7;
    REQUIRE(ml_start_all_reduce(g, in, out, COUNT, ML_FLOAT64, ML_SUM, &request) == 0);
    REQUIRE(ml_wait(request) == 0 && out[0] == 6 && out[COUNT - 1] == 6 + 4 * ((COUNT - 1) % 7));
    REQUIRE(ml_sendrecv(g, &mine, sizeof(mine), next, &got, sizeof(got), last) == 0);
    REQUIRE(got == 100 * round + last);
    if (rank == round % 4)
        job_be_busy(2); /* the others sleep */
    REQUIRE(ml_barrier(g) == 0);
}

static void check_window(ml_group *g, int rank, int round)
{
    int next = (rank + 1) % 4, last = (rank + 3) % 4;
    unsigned char bytes[FAR], back[FAR];
    ml_window *w;

    memset(bytes, rank + round, sizeof(bytes));
    REQUIRE(ml_window_create(g, NULL, 8 + FAR, &w) == 0);
    REQUIRE(ml_put_signal(w, bytes, sizeof(bytes), next, 8, 0, 1) == 0);
    REQUIRE(ml_wait_signal(w, 0, 1, -1) == 0);
    REQUIRE(ml_get(w, back, sizeof(back), rank, 8) == 0);
    REQUIRE(back[0] == (unsigned char)(last + round) && back[FAR - 1] == back[0]);
    REQUIRE(ml_window_free(w) == 0);
}

static void interrupted(struct job *j, int rank)
{
    int rounds = getenv("MLAUNCH_TEST_LONG") ? 100 : 10;
    ml_group *g, *half;

    (void)j;
    be_interrupted();
    REQUIRE(ml_init(&g) == 0);
    for (int i = 0; i < rounds; i++) {
        check_calls(g, rank, i);
        REQUIRE(ml_split(g, rank % 2, rank, &half) == 0);
        REQUIRE(ml_barrier(half) == 0);
        ml_group_free(half);
        check_window(g, rank, i);
    }
    REQUIRE(ml_finalize() == 0);
}

static void test_interrupted(void **state)
{
    static const struct job_config configs[] = {
        {.size = 4},
        {.size = 4, .backend = "tcp", .local_net = true},
        {.size = 4, .backend = "tcp", .local_net = true, .secure = true},
        {.size = 4, .hosts = 2, .backend = "tcp"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(configs) / sizeof(*configs); i++)
        job_do(&configs[i], interrupted);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_interrupted)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/*
 * survivor.c: a rank that outlives others: steps until the file STOP exists, and repairs the world
 * whenever a step fails, or a rank says that it has changed. In each step an oracle checks that
 * every member takes part, once, with numbers and with an array of a size that changes.
 *
 *     survivor STOP [HARM MS]    prints "id 2: membership 1, 3 ranks" on each change, with
 *                                ", came 1" for each newcomer, "id 2: repairs" before that, and
 *                                "id 2: done 120"
 *
 * Rank id 2 removes the file STOP.2 if there is one when it repairs, and dies within 3 ms.
 *
 * What HARM does to a process that takes a dead one's place: "late": it calls ml_init after MS
 * milliseconds; "hang": it never does; "die": one of three dies within MS unless it has joined.
 */
#include "common/mlaunch.h"

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { STEP_US = 2000, GO_ON = 0, HAS_CHANGED = 3, IS_OVER = 1, IS_WRONG = 2 };
enum { MOST_VALUES = 1 << 15, DIES_WITHIN_US = 3000 };

static int fail(const char *what)
{
    fprintf(stderr, "survivor: %s: %s\n", what, ml_error());
    return 3;
}

static void pause_us(long us)
{
    const struct timespec time = {us / 1000000, us % 1000000 * 1000};

    nanosleep(&time, NULL);
}

/* The sum of an array whose elements tell who has added to them; most are small. */
static int array_step(ml_group *w, uint64_t random, uint64_t ids)
{
    static uint64_t values[MOST_VALUES];
    size_t count = 1 + random / 8 % (MOST_VALUES >> random % 8 * 2);
    uint64_t ranks = (uint64_t)ml_size(w), mine = 1ull << ml_id(w, ml_rank(w));
    int rc;

    for (size_t i = 0; i < count; i++)
        values[i] = mine + i * i;
    rc = ml_all_reduce(w, values, values, count, ML_UINT64, ML_SUM);
    for (size_t i = 0; i < count && !rc; i++)
        if (values[i] != ids + ranks * (i * i))
            return IS_WRONG;
    return rc;
}

/* One of the enum; all ranks get the same. Otherwise the code of the call that failed. */
static int step(ml_group *w, const char *stop)
{
    int ranks = ml_size(w);
    uint64_t sum[4] = {1ull << ml_id(w, ml_rank(w)), access(stop, F_OK) == 0, ml_changed(w) == 1,
                       (uint64_t)rand()};
    uint64_t ids = 0;
    int rc = ml_all_reduce(w, sum, sum, 4, ML_UINT64, ML_SUM);

    if (rc)
        return rc;
    for (int i = 0; i < ranks; i++)
        ids |= 1ull << ml_id(w, i);
    if (sum[0] != ids || sum[1] > (uint64_t)ranks)
        return IS_WRONG;
    rc = array_step(w, sum[3], ids);
    if (rc)
        return rc;
    return sum[1] == (uint64_t)ranks ? IS_OVER : sum[2] ? HAS_CHANGED : GO_ON;
}

static void say(int id, const ml_change *c, int ranks)
{
    printf("id %d: membership %d, %d ranks", id, c->membership, ranks);
    for (int i = 0; i < c->came_count; i++)
        printf(", came %d", c->came[i]);
    putchar('\n');
    fflush(stdout);
}

/* By SIGKILL: a rank that ends in another way after a failed call, and before ml_repair has begun,
 * counts as one that does not repair, and the job ends. */
static void die_soon(void)
{
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL};
    struct itimerspec limit = {.it_value = {.tv_nsec = (1 + rand() % DIES_WITHIN_US) * 1000L}};
    timer_t timer;

    if (timer_create(CLOCK_MONOTONIC, &event, &timer) || timer_settime(timer, 0, &limit, NULL))
        raise(SIGKILL);
}

static int repair(ml_group **w, const char *stop, int id)
{
    char path[512];
    ml_change change;
    int rc;

    printf("id %d: repairs\n", id);
    fflush(stdout);
    snprintf(path, sizeof(path), "%s.%d", stop, id);
    if (unlink(path) == 0)
        die_soon();
    rc = ml_repair(*w, w, &change);
    if (!rc)
        say(id, &change, ml_size(*w));
    return rc;
}

static void harm(const char *how, int ms)
{
    const char *number = getenv("MLAUNCH_RESTART");
    struct itimerval limit = {0};

    if (!number || atoi(number) == 0)
        return;
    if (strcmp(how, "hang") == 0)
        pause();
    if (strcmp(how, "late") == 0)
        pause_us(ms * 1000L);
    limit.it_value.tv_usec = 1 + rand() % (ms * 1000);
    if (strcmp(how, "die") == 0 && rand() % 3 == 0)
        setitimer(ITIMER_REAL, &limit, NULL); /* SIGALRM */
}

int main(int argc, char **argv)
{
    const struct itimerval never = {0};
    ml_group *w;
    int rc, id, steps = 0;

    srand((unsigned)getpid());
    if (argc == 4)
        harm(argv[2], atoi(argv[3]));
    if ((argc != 2 && argc != 4) || ml_init(&w) != 0)
        return fail("ml_init");
    setitimer(ITIMER_REAL, &never, NULL);
    id = ml_id(w, ml_rank(w));
    printf("id %d: %s, %d ranks\n", id,
           strcmp(getenv("MLAUNCH_RESTART"), "0") == 0 ? "membership 0" : "has come", ml_size(w));
    fflush(stdout);
    while ((rc = step(w, argv[1])) != IS_OVER) {
        if (rc == ML_ERR_PEER || rc == HAS_CHANGED) {
            rc = repair(&w, argv[1], id);
            if (rc)
                return fail("ml_repair");
        }
        if (rc == IS_WRONG)
            fprintf(stderr, "survivor: id %d: a wrong sum\n", id);
        if (rc)
            return fail("a step");
        steps++;
        pause_us(STEP_US);
    }
    ml_finalize();
    printf("id %d: done %d\n", id, steps);
    return 0;
}

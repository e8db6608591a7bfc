/* SPDX-License-Identifier: MIT */
/*
 * until_failure COUNT [RANK ROUND]: all-reduces COUNT float32 until a call fails, then prints how
 * long the failing call took and its error. RANK kills itself after ROUND rounds, so that the
 * others' next call begins at its death. Rank 0 prints "running" on stdout after the third round.
 * SIGTERM is ignored: where mlaunch learns of the failure before the rank does, the rank has the
 * grace period to report it.
 */
#include "common/mlaunch.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static long now_ms(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int main(int argc, char **argv)
{
    size_t count = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;
    long victim = argc > 3 ? strtol(argv[2], NULL, 10) : -1;
    long last = argc > 3 ? strtol(argv[3], NULL, 10) : -1;
    float *numbers = calloc(count, sizeof(*numbers));
    ml_group *world;
    long begun;
    int rc, rank;

    if (!numbers || ml_init(&world)) {
        fprintf(stderr, "until_failure: %s\n", ml_error());
        return 1;
    }
    signal(SIGTERM, SIG_IGN);
    rank = ml_rank(world);
    for (long round = 0;; round++) {
        if (rank == victim && round == last)
            kill(getpid(), SIGKILL);
        if (rank == 0 && round == 3) {
            printf("running\n");
            fflush(stdout);
        }
        begun = now_ms(CLOCK_MONOTONIC);
        rc = ml_all_reduce(world, numbers, numbers, count, ML_FLOAT32, ML_SUM);
        if (rc)
            break;
    }
    printf("rank %d: error %d after %ld ms, at %ld: %s\n", rank, rc,
           now_ms(CLOCK_MONOTONIC) - begun, now_ms(CLOCK_REALTIME), ml_error());
    free(numbers);
    return 1;
}

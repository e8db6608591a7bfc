/* SPDX-License-Identifier: MIT */
/*
 * cycles COUNT [COMMAND]: ml_init, an all-reduce, ml_finalize, COUNT times. After the third time
 * and after the last, rank 0 runs COMMAND between the lines "then" and "now", and each rank counts
 * its file descriptors: status 1 if there are more at the end.
 */
#include "common/mlaunch.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

enum { WARM = 3 };

static int count_descriptors(void)
{
    DIR *d = opendir("/proc/self/fd");
    int count = 0;

    if (!d)
        return -1;
    while (readdir(d))
        count++;
    closedir(d);
    return count;
}

static int once(int *rank)
{
    ml_group *world;
    int64_t one = 1, sum = 0;

    if (ml_init(&world) || ml_all_reduce(world, &one, &sum, 1, ML_INT64, ML_SUM)) {
        fprintf(stderr, "cycles: %s\n", ml_error());
        return -1;
    }
    *rank = ml_rank(world);
    if (sum != ml_size(world)) {
        fprintf(stderr, "cycles: rank %d: a wrong sum\n", *rank);
        return -1;
    }
    if (ml_finalize()) {
        fprintf(stderr, "cycles: %s\n", ml_error());
        return -1;
    }
    return 0;
}

static void tell(const char *when, int rank, const char *command)
{
    if (rank || !command)
        return;
    printf("%s\n", when);
    fflush(stdout);
    if (system(command) != 0) /* NOLINT(cert-env33-c): the test's own command */
        printf("%s has failed\n", command);
}

int main(int argc, char **argv)
{
    long cycles = argc > 1 ? strtol(argv[1], NULL, 10) : WARM + 1;
    const char *command = argc > 2 ? argv[2] : NULL;
    int rank = 0, then = 0, now;

    for (long i = 1; i <= cycles; i++) {
        if (once(&rank))
            return 1;
        if (i == WARM) {
            then = count_descriptors();
            tell("then", rank, command);
        }
    }
    now = count_descriptors();
    tell("now", rank, command);
    printf("rank %d: %ld cycles, %d descriptors, then %d\n", rank, cycles, then, now);
    return now > then;
}

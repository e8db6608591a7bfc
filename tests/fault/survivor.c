/* SPDX-License-Identifier: MIT */
/*
 * survivor.c: a rank that outlives others: steps until the file STOP exists, and repairs the world
 * whenever a step fails. In each step an oracle checks that every member takes part, once.
 *
 *     survivor STOP     prints "id 2: membership 1, 3 ranks" on each change, "id 2: done 120"
 */
#include "common/mlaunch.h"

#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { STEP_US = 2000 };

static int fail(const char *what)
{
    fprintf(stderr, "survivor: %s: %s\n", what, ml_error());
    return 3;
}

/* 1: all have seen the file; otherwise the code of the call that failed, or 2 for a wrong sum. */
static int step(ml_group *w, const char *stop)
{
    int ranks = ml_size(w);
    uint64_t sum[2] = {1ull << ml_id(w, ml_rank(w)), access(stop, F_OK) == 0}, ids = 0;
    int rc = ml_all_reduce(w, sum, sum, 2, ML_UINT64, ML_SUM);

    if (rc)
        return rc;
    for (int i = 0; i < ranks; i++)
        ids |= 1ull << ml_id(w, i);
    if (sum[0] != ids || sum[1] > (uint64_t)ranks)
        return 2;
    return sum[1] == (uint64_t)ranks;
}

int main(int argc, char **argv)
{
    const struct timespec pause = {.tv_nsec = STEP_US * 1000};
    ml_change change;
    ml_group *w;
    int rc, id, steps = 0;

    if (argc != 2 || ml_init(&w) != 0)
        return fail("ml_init");
    id = ml_id(w, ml_rank(w));
    printf("id %d: membership 0, %d ranks\n", id, ml_size(w));
    fflush(stdout);
    while ((rc = step(w, argv[1])) != 1) {
        if (rc == ML_ERR_PEER) {
            rc = ml_repair(w, &w, &change);
            if (rc)
                return fail("ml_repair");
            printf("id %d: membership %d, %d ranks\n", id, change.membership, ml_size(w));
            fflush(stdout);
        }
        if (rc == 2)
            fprintf(stderr, "survivor: id %d: a wrong sum\n", id);
        if (rc)
            return fail("a step");
        steps++;
        nanosleep(&pause, NULL);
    }
    ml_finalize();
    printf("id %d: done %d\n", id, steps);
    return 0;
}

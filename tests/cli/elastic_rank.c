/* SPDX-License-Identifier: MIT */
/*
 * elastic_rank: ranks of which some end early, and the others go on.
 *
 *     elastic_rank LEAST HOW [RANK…]   the ranks RANK… end by HOW, once all have said "began ID
 *                                      PID"; the others repair the world until it has LEAST
 *                                      members, and say "lives ID PID RANK/SIZE". LEAST 0: they
 *                                      repair nothing.
 *
 * HOW is kill, exit (status 7), quiet (status 0 without ml_finalize), abort (status 9), or live.
 */
#include "common/mlaunch.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void fail(void)
{
    fprintf(stderr, "%s\n", ml_error());
    exit(3);
}

static void end(const char *how)
{
    if (strcmp(how, "kill") == 0)
        raise(SIGKILL);
    else if (strcmp(how, "exit") == 0)
        _exit(7);
    else if (strcmp(how, "quiet") == 0)
        _exit(0);
    else if (strcmp(how, "abort") == 0)
        ml_abort(9, "it is enough");
}

int main(int argc, char **argv)
{
    int least = argc > 2 ? atoi(argv[1]) : 0, id, rc;
    ml_group *world = NULL;

    if (argc < 3) {
        fprintf(stderr, "usage: elastic_rank LEAST HOW [RANK…]\n");
        return 2;
    }
    if (ml_init(&world))
        fail();
    id = ml_id(world, ml_rank(world));
    printf("began %d %d\n", id, (int)getpid());
    fflush(stdout);
    if (ml_barrier(world))
        fail();
    for (int i = 3; i < argc; i++)
        if (atoi(argv[i]) == id)
            end(argv[2]);
    while (!least || ml_size(world) > least) {
        rc = ml_barrier(world);
        if (rc == ML_ERR_PEER && least)
            rc = ml_repair(world, &world, NULL);
        if (rc)
            fail();
    }
    if (ml_barrier(world))
        fail();
    printf("lives %d %d %d/%d\n", id, (int)getpid(), ml_rank(world), ml_size(world));
    return ml_finalize() ? 3 : 0;
}

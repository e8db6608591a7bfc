/* SPDX-License-Identifier: MIT */
/* barrier.c: ranks that only come and go, for tests/bench/scale --before. */
#include <mlaunch.h>

#include <stdio.h>

int main(void)
{
    ml_group *world;

    if (ml_init(&world) == 0 && ml_barrier(world) == 0 && ml_finalize() == 0)
        return 0;
    fprintf(stderr, "barrier: %s\n", ml_error());
    return 1;
}

/* SPDX-License-Identifier: MIT */
/* hello: every rank prints where it runs; together they count themselves. */
#include <mlaunch.h>

#include <stdio.h>

int main(void)
{
    ml_group *world;
    int one = 1, ranks;

    if (ml_init(&world) < 0 || ml_all_reduce(world, &one, &ranks, 1, ML_INT32, ML_SUM) < 0) {
        fprintf(stderr, "hello: %s\n", ml_error());
        return 1;
    }
    printf("hello from rank %d of %d on %s\n", ml_rank(world), ml_size(world),
           ml_host(world, ml_rank(world)));
    if (ml_rank(world) == 0)
        printf("we are %d, and speak mlaunch %s\n", ranks, ml_version());
    return ml_finalize() < 0;
}

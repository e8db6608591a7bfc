/* SPDX-License-Identifier: MIT */
/*
 * checked COUNT ROUNDS: all-reduces COUNT int64 ROUNDS times, each time other numbers, and compares
 * every element of every result. Rank 0 prints "running" on stdout after the third round; at the
 * end each rank prints how long its longest round took. Status 1 if a call failed or a number was
 * wrong.
 */
#include "common/mlaunch.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static long now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static int64_t number(int rank, long round, size_t index)
{
    return (int64_t)(((size_t)rank + 1) * 1000003 + (size_t)round * 7919 + index * 31);
}

static size_t count_wrong(const int64_t *sums, size_t count, int size, long round)
{
    size_t wrong = 0;

    for (size_t i = 0; i < count; i++) {
        int64_t sum = 0;

        for (int r = 0; r < size; r++)
            sum += number(r, round, i);
        wrong += sums[i] != sum;
    }
    return wrong;
}

int main(int argc, char **argv)
{
    size_t count = argc > 1 ? strtoul(argv[1], NULL, 10) : 1, wrong = 0;
    long rounds = argc > 2 ? strtol(argv[2], NULL, 10) : 1, longest = 0;
    int64_t *in = calloc(count, sizeof(*in)), *out = calloc(count, sizeof(*out));
    ml_group *world;

    if (!in || !out || ml_init(&world)) {
        fprintf(stderr, "checked: %s\n", ml_error());
        return 1;
    }
    for (long round = 0; round < rounds; round++) {
        long begun = now_ms();

        for (size_t i = 0; i < count; i++)
            in[i] = number(ml_rank(world), round, i);
        if (ml_all_reduce(world, in, out, count, ML_INT64, ML_SUM)) {
            fprintf(stderr, "checked: rank %d, round %ld: %s\n", ml_rank(world), round, ml_error());
            return 1;
        }
        wrong += count_wrong(out, count, ml_size(world), round);
        longest = now_ms() - begun > longest ? now_ms() - begun : longest;
        if (ml_rank(world) == 0 && round == 2) {
            printf("running\n");
            fflush(stdout);
        }
    }
    printf("rank %d: %ld rounds, %zu wrong, longest %ld ms\n", ml_rank(world), rounds, wrong,
           longest);
    if (ml_finalize())
        fprintf(stderr, "checked: %s\n", ml_error());
    free(in);
    free(out);
    return wrong != 0;
}

/* SPDX-License-Identifier: MIT */
/* local_add BYTES: how fast one core adds one array of float32 to another, in MB of one operand a second. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ROUNDS = 9 };

static void add(float *restrict to, const float *restrict from, size_t count)
{
    for (size_t i = 0; i < count; i++)
        to[i] += from[i];
}

static double now_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
    size_t count = (argc > 1 ? strtoul(argv[1], NULL, 10) : 4 << 20) / sizeof(float);
    float *to = calloc(count, sizeof(*to)), *from = calloc(count, sizeof(*from));
    double best = 0;

    if (!to || !from)
        return 1;
    for (int i = 0; i < ROUNDS; i++) {
        double begin = now_s(), rate;

        add(to, from, count);
        rate = (double)(count * sizeof(float)) / (now_s() - begin) / 1e6;
        best = rate > best ? rate : best;
    }
    printf("%.1f %g\n", best, (double)to[count / 2]);
    free(to);
    free(from);
    return 0;
}

/* SPDX-License-Identifier: MIT */
/* peers_mpi.c: all_reduce of float32 sums by MPI, timed as mlaunch bench does: a barrier, each rank's own time, the
 * maximum over the ranks; prints bytes and the median in us for each size of its arguments. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST = 2000, LEAST = 10, WARM_UP = 3 };
static const double budget_s = 0.3;

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double once(const float *in, float *out, int count)
{
    double begin;

    MPI_Barrier(MPI_COMM_WORLD);
    begin = MPI_Wtime();
    MPI_Allreduce(in, out, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    return MPI_Wtime() - begin;
}

static double measure(int count)
{
    float *in = calloc((size_t)count, sizeof(*in)), *out = calloc((size_t)count, sizeof(*out));
    double mine[MOST], all[MOST], last = 0, most;
    int n;

    if (!in || !out)
        MPI_Abort(MPI_COMM_WORLD, 1);
    for (int i = 0; i < WARM_UP; i++)
        last = once(in, out, count);
    MPI_Allreduce(&last, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    n = most * MOST < budget_s ? MOST : (int)(budget_s / most);
    n = n < LEAST ? LEAST : n;
    for (int i = 0; i < n; i++)
        mine[i] = once(in, out, count);
    MPI_Allreduce(mine, all, n, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    qsort(all, (size_t)n, sizeof(*all), compare);
    free(in);
    free(out);
    return n % 2 ? all[n / 2] : (all[n / 2 - 1] + all[n / 2]) / 2;
}

int main(int argc, char **argv)
{
    int rank;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 1; i < argc; i++) {
        int bytes = atoi(argv[i]);
        double us = measure(bytes / (int)sizeof(float)) * 1e6;

        if (rank == 0)
            printf("%d %.3f\n", bytes, us);
    }
    MPI_Finalize();
    return 0;
}

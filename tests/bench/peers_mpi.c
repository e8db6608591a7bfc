/* SPDX-License-Identifier: MIT */
/*
 * peers_mpi.c: one operation by MPI, timed as mlaunch bench does: a barrier, each rank's own time,
 * the maximum over the ranks. Prints bytes and the median in us for each size.
 *
 *     peers_mpi OPERATION BYTES…
 *
 * Operations, and the meaning of their bytes, are those of mlaunch bench; reductions are sums of
 * float32.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 2000, LEAST = 10, WARM_UP = 3, WINDOW = 64, WINDOW_BYTES = 64 << 20, PAGE = 4096 };
static const double budget_s = 0.3;

static int rank, ranks;

/* One operation's buffers of `bytes` each. Where ranks share them, `share` bytes belong to each. */
struct buffers {
    char *in, *out;
    int bytes, share, window;
};

static void all_reduce(const struct buffers *b)
{
    MPI_Allreduce(b->in, b->out, b->bytes / (int)sizeof(float), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}

static void all_gather(const struct buffers *b)
{
    MPI_Allgather(b->in, b->share, MPI_BYTE, b->out, b->share, MPI_BYTE, MPI_COMM_WORLD);
}

static void reduce_scatter(const struct buffers *b)
{
    MPI_Reduce_scatter_block(b->in, b->out, b->share / (int)sizeof(float), MPI_FLOAT, MPI_SUM,
                             MPI_COMM_WORLD);
}

static void all_to_all(const struct buffers *b)
{
    MPI_Alltoall(b->in, b->share, MPI_BYTE, b->out, b->share, MPI_BYTE, MPI_COMM_WORLD);
}

static void broadcast(const struct buffers *b)
{
    MPI_Bcast(rank == 0 ? b->in : b->out, b->bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
}

static void barrier(const struct buffers *b)
{
    (void)b;
    MPI_Barrier(MPI_COMM_WORLD);
}

static void send_receive(const struct buffers *b)
{
    MPI_Sendrecv(b->in, b->bytes, MPI_BYTE, (rank + 1) % ranks, 0, b->out, b->bytes, MPI_BYTE,
                 (rank + ranks - 1) % ranks, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void there_and_back(const struct buffers *b)
{
    if (rank == 0) {
        MPI_Send(b->in, b->bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
        MPI_Recv(b->out, b->bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (rank == 1) {
        MPI_Recv(b->out, b->bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(b->in, b->bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
    }
}

static void one_way(const struct buffers *b)
{
    int word = 0;

    for (int i = 0; i < b->window && rank < 2; i++)
        if (rank == 0)
            MPI_Send(b->in, b->bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
        else
            MPI_Recv(b->out, b->bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 0)
        MPI_Recv(&word, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else if (rank == 1)
        MPI_Send(&word, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
}

static const struct operation {
    const char *name;
    void (*run)(const struct buffers *b);
} operations[] = {
    {"all_reduce", all_reduce}, {"all_gather", all_gather}, {"reduce_scatter", reduce_scatter},
    {"all_to_all", all_to_all}, {"broadcast", broadcast},   {"barrier", barrier},
    {"sendrecv", send_receive}, {"lat", there_and_back},    {"bw", one_way},
};
enum { OPERATIONS = sizeof(operations) / sizeof(operations[0]) };

/* A call of lat or bw is more than the one message whose time is meant. */
static int messages_of(const struct operation *o, const struct buffers *b)
{
    if (o->run == there_and_back)
        return 2;
    return o->run == one_way ? b->window : 1;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double once(const struct operation *o, const struct buffers *b)
{
    double begin;

    MPI_Barrier(MPI_COMM_WORLD);
    begin = MPI_Wtime();
    o->run(b);
    return MPI_Wtime() - begin;
}

static double measure(const struct operation *o, int bytes)
{
    /* A rank's share is at least one element. */
    size_t room = ((size_t)bytes + (size_t)ranks * sizeof(float) + PAGE - 1) / PAGE * PAGE;
    struct buffers b = {.in = aligned_alloc(PAGE, room),
                        .out = aligned_alloc(PAGE, room),
                        .bytes = bytes,
                        .window = WINDOW};
    double mine[MOST], all[MOST], last = 0, most;
    int n;

    if (!b.in || !b.out)
        MPI_Abort(MPI_COMM_WORLD, 1);
    /* Write the buffers, as a program with data to send does: pages that were never written are one
     * page of zeros, in a cache. */
    memset(b.in, 1, room);
    memset(b.out, 1, room);
    b.share = bytes / ranks / (int)sizeof(float) * (int)sizeof(float);
    if (!b.share)
        b.share = sizeof(float);
    while (b.window > 1 && (long)bytes * b.window > WINDOW_BYTES)
        b.window /= 2;
    for (int i = 0; i < WARM_UP; i++)
        last = once(o, &b);
    MPI_Allreduce(&last, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    n = most * MOST < budget_s ? MOST : (int)(budget_s / most);
    n = n < LEAST ? LEAST : n;
    for (int i = 0; i < n; i++)
        mine[i] = once(o, &b) / messages_of(o, &b);
    MPI_Allreduce(mine, all, n, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    qsort(all, (size_t)n, sizeof(*all), compare);
    free(b.in);
    free(b.out);
    return n % 2 ? all[n / 2] : (all[n / 2 - 1] + all[n / 2]) / 2;
}

int main(int argc, char **argv)
{
    int o = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    while (argc > 1 && o < OPERATIONS && strcmp(operations[o].name, argv[1]) != 0)
        o++;
    if (argc < 2 || o == OPERATIONS) {
        fprintf(stderr, "usage: peers_mpi OPERATION BYTES...\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    if (operations[o].run == barrier)
        argc = 3;
    for (int i = 2; i < argc; i++) {
        int bytes = operations[o].run == barrier ? 0 : atoi(argv[i]);
        double us = measure(&operations[o], bytes) * 1e6;

        if (rank == 0)
            printf("%d %.3f\n", bytes, us);
    }
    MPI_Finalize();
    return 0;
}

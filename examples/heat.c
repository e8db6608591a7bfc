/* SPDX-License-Identifier: MIT */
/*
 * heat [SIDE [STEPS]]: heat spreads over a square plate, one edge of which is kept at 100 degrees
 * and the others at 0, until the middle has 25. (Four such plates, each turned further, add up to
 * one that has 100 everywhere.) Each rank has a band of rows and, above and below it, a copy of its
 * neighbours' nearest row, which ml_sendrecv renews in every step. The first and the last rank have
 * ML_NOBODY on one side.
 *
 * A cell's new value depends only on five old ones, so any number of ranks gives the same plate,
 * bit for bit; the checksum covers all bits.
 */
#include <mlaunch.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double hot = 100, spread = 0.2;

struct plate {
    ml_group *world;
    int side;           /* cells, without the edges */
    int first, rows;    /* this rank's band */
    size_t width;       /* side and an edge cell at either end */
    double *now, *next; /* rows + 2 rows of `width` */
};

static void must(int rc)
{
    if (rc < 0)
        ml_abort(1, ml_error());
}

static void plate_create(struct plate *p, ml_group *world, int side)
{
    int rank = ml_rank(world), size = ml_size(world);
    size_t cells;

    p->world = world;
    p->side = side;
    p->first = (int)((int64_t)side * rank / size);
    p->rows = (int)((int64_t)side * (rank + 1) / size) - p->first;
    p->width = (size_t)side + 2;
    cells = ((size_t)p->rows + 2) * p->width;
    p->now = calloc(cells, sizeof(double));
    p->next = calloc(cells, sizeof(double));
    if (!p->now || !p->next)
        ml_abort(1, "out of memory");
    if (rank == 0) /* the upper edge is hot, and stays so */
        for (size_t x = 0; x < p->width; x++)
            p->now[x] = p->next[x] = hot;
}

/* The rows above and below the band come from the neighbours. */
static void halo_exchange(struct plate *p)
{
    int rank = ml_rank(p->world), size = ml_size(p->world);
    int above = rank > 0 ? rank - 1 : ML_NOBODY, below = rank < size - 1 ? rank + 1 : ML_NOBODY;
    size_t row = p->width * sizeof(double);
    double *top = p->now + p->width, *bottom = p->now + (size_t)p->rows * p->width;

    must(ml_sendrecv(p->world, top, row, above, bottom + p->width, row, below));
    must(ml_sendrecv(p->world, bottom, row, below, p->now, row, above));
}

/* Returns the largest change of a cell of this band. */
static double plate_step(struct plate *p)
{
    double most = 0, *swap;

    for (int y = 1; y <= p->rows; y++) {
        const double *old = p->now + (size_t)y * p->width;
        double *new = p->next + (size_t)y * p->width;

        for (size_t x = 1; x <= (size_t)p->side; x++) {
            double around = old[x - 1] + old[x + 1] + old[x - p->width] + old[x + p->width];
            double change = spread * (around - 4 * old[x]);

            new[x] = old[x] + change;
            if (fabs(change) > most)
                most = fabs(change);
        }
    }
    swap = p->now;
    p->now = p->next;
    p->next = swap;
    return most;
}

/* Wraps, so the order of summation doesn't matter. */
static uint64_t plate_checksum(const struct plate *p)
{
    uint64_t sum = 0;

    for (int y = 1; y <= p->rows; y++)
        for (size_t x = 1; x <= (size_t)p->side; x++) {
            uint64_t bits, place = (uint64_t)(p->first + y) * p->width + x;

            memcpy(&bits, p->now + (size_t)y * p->width + x, sizeof(bits));
            sum += bits * (2 * place + 1);
        }
    return sum;
}

static int number_or(int argc, char **argv, int i, int otherwise)
{
    return argc > i ? atoi(argv[i]) : otherwise;
}

int main(int argc, char **argv)
{
    int side = number_or(argc, argv, 1, 63), steps = number_or(argc, argv, 2, 10000);
    int centre = side / 2;
    double most = 0, middle = 0;
    uint64_t checksum;
    struct plate p;
    ml_group *world;

    must(ml_init(&world));
    if (side < ml_size(world) || steps < 1)
        ml_abort(1, "usage: heat [SIDE [STEPS]], with at least one row for each rank");
    plate_create(&p, world, side);
    for (int i = 0; i < steps; i++) {
        halo_exchange(&p);
        most = plate_step(&p);
    }
    if (p.first <= centre && centre < p.first + p.rows)
        middle = p.now[(size_t)(centre - p.first + 1) * p.width + (size_t)centre + 1];

    checksum = plate_checksum(&p);
    must(ml_all_reduce(world, &most, &most, 1, ML_FLOAT64, ML_MAX));
    must(ml_all_reduce(world, &middle, &middle, 1, ML_FLOAT64, ML_MAX));
    must(ml_all_reduce(world, &checksum, &checksum, 1, ML_UINT64, ML_SUM));
    if (ml_rank(world) == 0) {
        printf("%d x %d cells after %d steps: %.6f in the middle, changing by %.3g at most\n", side,
               side, steps, middle, most);
        printf("checksum: %016" PRIx64 "\n", checksum);
    }
    must(ml_finalize());
    free(p.now);
    free(p.next);
    return 0;
}

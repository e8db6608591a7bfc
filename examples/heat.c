/* SPDX-License-Identifier: MIT */
/*
 * heat [SIDE [STEPS]]: heat spreads over a square plate, one edge of which is kept at 100 degrees
 * and the others at 0, until the middle has 25. (Four such plates, each turned further, add up to
 * one that has 100 everywhere.) Each rank has a band of rows and, above and below it, a copy of its
 * neighbours' nearest row, which ml_sendrecv renews in every step. The first and the last rank have
 * ML_NOBODY on one side.
 *
 * Every hundred steps each rank keeps its band (ml_keep). If the job may lose ranks (--elastic),
 * and does, those that live go on from the last bands that all have kept, also those of the lost
 * ones: of ranks of their host, and with --keep 2 of the host before it. They deal out the rows
 * anew. If a band is lost, they begin again.
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

enum { KEEP_STEPS = 100 };

/* What is kept: this, then the rows without their edges' rows. */
struct band {
    int first, rows, step;
};

struct plate {
    ml_group *world;
    int step;           /* how many have been done */
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
    p->step = 0;
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
static int halo_exchange(struct plate *p)
{
    int rank = ml_rank(p->world), size = ml_size(p->world);
    int above = rank > 0 ? rank - 1 : ML_NOBODY, below = rank < size - 1 ? rank + 1 : ML_NOBODY;
    size_t row = p->width * sizeof(double);
    double *top = p->now + p->width, *bottom = p->now + (size_t)p->rows * p->width;

    int rc = ml_sendrecv(p->world, top, row, above, bottom + p->width, row, below);

    return rc ? rc : ml_sendrecv(p->world, bottom, row, below, p->now, row, above);
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

/* --- after deaths ----------------------------------------------------------------------------- */

static int band_keep(const struct plate *p)
{
    const struct band b = {p->first, p->rows, p->step};
    size_t rows = (size_t)p->rows * p->width * sizeof(double);
    unsigned char *all = malloc(sizeof(b) + rows);
    int rc;

    if (!all)
        ml_abort(1, "out of memory");
    memcpy(all, &b, sizeof(b));
    memcpy(all + sizeof(b), p->now + p->width, rows);
    rc = ml_keep(p->world, "band", all, sizeof(b) + rows, (uint64_t)p->step);
    free(all);
    return rc == ML_ERR_PEER ? rc : 0; /* without mlaunch, or without room, nothing is kept */
}

/* Puts what that rank has kept, if it is on this host, into the whole plate and its `steps`, which
 * has 1 + the step for each row that is there. */
static void band_restore(const struct plate *p, int id, double *whole, int *steps)
{
    unsigned char *all;
    struct band b;
    size_t size;

    if (ml_kept_size(p->world, "band", id, &size) || size < sizeof(b))
        return;
    all = malloc(size);
    if (all && ml_restore(p->world, "band", id, all, size) == 0) {
        memcpy(&b, all, sizeof(b));
        memcpy(whole + (size_t)b.first * p->width, all + sizeof(b), size - sizeof(b));
        for (int y = b.first; y < b.first + b.rows; y++)
            steps[y] = b.step + 1;
    }
    free(all);
}

/* All get the rows that any of them has. No value is below 0, so the greatest is the one. */
static int whole_share(const struct plate *p, double *whole, int *steps)
{
    size_t cells = (size_t)p->side * p->width, rows = (size_t)p->side;
    int rc = ml_all_reduce(p->world, whole, whole, cells, ML_FLOAT64, ML_MAX);

    return rc ? rc : ml_all_reduce(p->world, steps, steps, rows, ML_INT32, ML_MAX);
}

/* Takes this rank's new band from the whole plate, unless rows are missing. */
static void plate_refill(struct plate *p, const double *whole, const int *steps)
{
    for (int y = 0; y < p->side; y++)
        if (!steps[y])
            return;
    memcpy(p->now + p->width, whole + (size_t)p->first * p->width,
           (size_t)p->rows * p->width * sizeof(double));
    p->step = steps[0] - 1;
}

/* Goes on from what all have kept, the ranks of these ids, too; or from the beginning. */
static int plate_recover(struct plate *p, const int *ids, int count)
{
    double *whole = calloc((size_t)p->side * p->width, sizeof(double));
    int *steps = calloc((size_t)p->side, sizeof(int));
    uint64_t version;
    int rc;

    if (!whole || !steps)
        ml_abort(1, "out of memory");
    rc = ml_kept(p->world, "band", ids, count, &version);
    if (rc == 1) {
        band_restore(p, ml_id(p->world, ml_rank(p->world)), whole, steps);
        for (int i = 0; i < count; i++)
            band_restore(p, ids[i], whole, steps);
        rc = whole_share(p, whole, steps);
        if (!rc)
            plate_refill(p, whole, steps);
    }
    free(whole);
    free(steps);
    return rc;
}

static int plate_repair(struct plate *p)
{
    ml_group *world;
    ml_change change;
    int rc = ml_repair(p->world, &world, &change);

    if (rc)
        return rc;
    free(p->now);
    free(p->next);
    plate_create(p, world, p->side);
    rc = plate_recover(p, change.left, change.left_count);
    return rc ? rc : band_keep(p); /* in the bands that are dealt out now */
}

/* Up to that step, in spite of deaths. */
static double plate_run(struct plate *p, int steps)
{
    double most = 0;
    int rc = getenv("MLAUNCH_JOB_DIR") ? plate_recover(p, NULL, 0) : 0;

    while (rc || p->step < steps) {
        if (rc == ML_ERR_PEER)
            rc = plate_repair(p);
        else
            must(rc);
        if (!rc && p->step < steps)
            rc = halo_exchange(p);
        if (rc)
            continue;
        most = plate_step(p);
        p->step++;
        if (p->step % KEEP_STEPS == 0)
            rc = band_keep(p);
    }
    return most;
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
    most = plate_run(&p, steps);
    if (p.first <= centre && centre < p.first + p.rows)
        middle = p.now[(size_t)(centre - p.first + 1) * p.width + (size_t)centre + 1];

    checksum = plate_checksum(&p);
    must(ml_all_reduce(p.world, &most, &most, 1, ML_FLOAT64, ML_MAX));
    must(ml_all_reduce(p.world, &middle, &middle, 1, ML_FLOAT64, ML_MAX));
    must(ml_all_reduce(p.world, &checksum, &checksum, 1, ML_UINT64, ML_SUM));
    if (ml_rank(p.world) == 0) {
        printf("%d x %d cells after %d steps: %.6f in the middle, changing by %.3g at most\n", side,
               side, steps, middle, most);
        printf("checksum: %016" PRIx64 "\n", checksum);
    }
    must(ml_finalize());
    free(p.now);
    free(p.next);
    return 0;
}

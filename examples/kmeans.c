/* SPDX-License-Identifier: MIT */
/*
 * kmeans [FILE]: Lloyd's k-means clustering of Fisher's iris measurements. The flowers are divided
 * among the ranks, and each step needs one ml_all_reduce.
 *
 * All numbers are integers (millimetres; for centres thousandths of a millimetre), so sums don't
 * depend on their order: any number of ranks gives the same centres and the same checksum, bit for
 * bit. The result can be checked elsewhere: R's kmeans(iris[, 1:4], 3) finds clusters of 50, 62 and
 * 38 flowers and a total within-cluster sum of squares of 78.85144.
 */
#include <mlaunch.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MEASURES = 4, CLUSTERS = 3, SPECIES = 3, MOST = 10000, SCALE = 1000, STEPS = 100 };

struct flower {
    int32_t mm[MEASURES]; /* sepal length and width, petal length and width */
    int32_t species;
};

/* What a step sums over all flowers; all int64_t, so that one ml_all_reduce does. */
struct totals {
    int64_t sum[CLUSTERS][MEASURES];
    int64_t count[CLUSTERS];
    int64_t moved;                      /* flowers that changed their cluster */
    int64_t squares;                    /* the distances', in (mm / SCALE)^2 */
    int64_t species[CLUSTERS][SPECIES]; /* how many of each species are in each cluster */
    int64_t checksum;                   /* over each flower's cluster */
};

static const char *const species_names[SPECIES] = {"setosa", "versicolor", "virginica"};

static _Noreturn void fail(const char *what)
{
    ml_abort(1, what);
}

static void must(int rc)
{
    if (rc < 0)
        fail(ml_error());
}

/* "5.1,3.5,1.4,0.2,setosa": centimetres with one decimal. */
static int flower_parse(const char *line, struct flower *f)
{
    char species[32];
    int cm[MEASURES], mm[MEASURES];

    if (sscanf(line, "%d.%1d,%d.%1d,%d.%1d,%d.%1d,%31[a-z]", &cm[0], &mm[0], &cm[1], &mm[1], &cm[2],
               &mm[2], &cm[3], &mm[3], species) != 9)
        return -1;
    for (int i = 0; i < MEASURES; i++)
        f->mm[i] = 10 * cm[i] + mm[i];
    for (f->species = 0; f->species < SPECIES; f->species++)
        if (strcmp(species, species_names[f->species]) == 0)
            return 0;
    return -1;
}

static FILE *file_open(const char *path)
{
    FILE *f = fopen(path, "r");
    char text[512];

    if (!f) {
        snprintf(text, sizeof(text), "cannot read %s: %s", path, strerror(errno));
        fail(text);
    }
    return f;
}

static int64_t flowers_read(const char *path, struct flower *flowers)
{
    char line[256], text[512];
    FILE *f = file_open(path);
    int64_t count = 0;

    if (!fgets(line, sizeof(line), f)) /* the column names */
        fail("the file is empty");
    while (count < MOST && fgets(line, sizeof(line), f))
        if (flower_parse(line, &flowers[count++]) < 0) {
            snprintf(text, sizeof(text), "%s line %" PRId64 " is no flower: %s", path, count + 1,
                     line);
            fail(text);
        }
    fclose(f);
    if (count < CLUSTERS)
        fail("there are fewer flowers than clusters");
    return count;
}

/* The square of a distance, in (mm / SCALE)^2. */
static int64_t distance(const struct flower *f, const int64_t centre[MEASURES])
{
    int64_t sum = 0;

    for (int i = 0; i < MEASURES; i++) {
        int64_t d = (int64_t)f->mm[i] * SCALE - centre[i];

        sum += d * d;
    }
    return sum;
}

static int nearest(const struct flower *f, int64_t centres[CLUSTERS][MEASURES], int64_t *squares)
{
    int best = 0;

    *squares = distance(f, centres[0]);
    for (int c = 1; c < CLUSTERS; c++) {
        int64_t d = distance(f, centres[c]);

        if (d < *squares) {
            *squares = d;
            best = c;
        }
    }
    return best;
}

/* This rank's share of the totals: flowers [first, last). */
static void totals_count(struct totals *t, const struct flower *flowers, int64_t first,
                         int64_t last, int64_t centres[CLUSTERS][MEASURES], int *cluster)
{
    memset(t, 0, sizeof(*t));
    for (int64_t i = first; i < last; i++) {
        int64_t squares;
        int c = nearest(&flowers[i], centres, &squares);

        for (int k = 0; k < MEASURES; k++)
            t->sum[c][k] += flowers[i].mm[k];
        t->count[c]++;
        t->moved += c != cluster[i];
        t->squares += squares;
        t->species[c][flowers[i].species]++;
        t->checksum += (i + 1) * (c + 1) * INT64_C(2654435761);
        cluster[i] = c;
    }
}

static void centres_move(int64_t centres[CLUSTERS][MEASURES], const struct totals *t)
{
    for (int c = 0; c < CLUSTERS; c++)
        for (int k = 0; k < MEASURES && t->count[c]; k++)
            centres[c][k] = (t->sum[c][k] * SCALE + t->count[c] / 2) / t->count[c];
}

static void report(int64_t flowers, int steps, int64_t centres[CLUSTERS][MEASURES],
                   const struct totals *t)
{
    uint64_t checksum = (uint64_t)t->checksum;

    printf("%" PRId64 " flowers, %d clusters, done after %d steps\n", flowers, CLUSTERS, steps);
    for (int c = 0; c < CLUSTERS; c++) {
        printf("cluster %d: %2" PRId64 " flowers, centre", c, t->count[c]);
        for (int k = 0; k < MEASURES; k++) {
            printf(" %.4f", (double)centres[c][k] / SCALE / 10);
            checksum = (checksum ^ (uint64_t)centres[c][k]) * UINT64_C(0x100000001b3);
        }
        printf(" cm;");
        for (int s = 0; s < SPECIES; s++)
            printf(" %" PRId64 " %s%s", t->species[c][s], species_names[s], s < 2 ? "," : "\n");
    }
    printf("sum of squares: %.3f cm^2\n", (double)t->squares / SCALE / SCALE / 100);
    printf("checksum: %016" PRIx64 "\n", checksum);
}

int main(int argc, char **argv)
{
    static struct flower flowers[MOST];
    static int cluster[MOST];
    int64_t count = 0, first, last, centres[CLUSTERS][MEASURES];
    struct totals mine, all = {.moved = 1};
    ml_group *world;
    int rank, size, step;

    must(ml_init(&world));
    rank = ml_rank(world);
    size = ml_size(world);
    if (rank == 0) /* the file need not be on the other hosts */
        count = flowers_read(argc > 1 ? argv[1] : "examples/iris.csv", flowers);
    must(ml_broadcast(world, &count, sizeof(count), 0));
    must(ml_broadcast(world, flowers, (size_t)count * sizeof(*flowers), 0));

    first = count * rank / size;
    last = count * (rank + 1) / size;
    for (int c = 0; c < CLUSTERS; c++) /* the first centres: flowers spread over the file */
        for (int k = 0; k < MEASURES; k++)
            centres[c][k] = (int64_t)flowers[c * count / CLUSTERS].mm[k] * SCALE;
    for (int64_t i = first; i < last; i++)
        cluster[i] = -1;
    for (step = 0; all.moved && step < STEPS; step++) {
        totals_count(&mine, flowers, first, last, centres, cluster);
        must(ml_all_reduce(world, &mine, &all, sizeof(all) / sizeof(int64_t), ML_INT64, ML_SUM));
        centres_move(centres, &all);
    }
    if (rank == 0)
        report(count, step, centres, &all);
    must(ml_finalize());
    return 0;
}

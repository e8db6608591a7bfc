/* SPDX-License-Identifier: MIT */
/*
 * overlap [BUCKETS [MIB]]: computes values bucket by bucket and sums them over all ranks, as
 * training does. In one way, each bucket's ml_all_reduce is waited for before the next bucket is
 * computed; in the other, it is started and runs meanwhile. Prints how long each way takes, and
 * what share of the shorter part, computing or summing, is hidden behind the other.
 *
 * How much can be hidden depends on what does the work: an RDMA device, or a network slower than
 * the processor, needs little of it; otherwise a thread needs a processor that is free.
 */
#include <mlaunch.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { BUCKETS_MOST = 1024, CHECKED = 997 /* one of this many values is checked */ };

struct job {
    ml_group *world;
    int buckets, rounds;
    size_t count; /* values in a bucket */
    double *values;
};

static void must(int rc)
{
    if (rc < 0)
        ml_abort(1, ml_error());
}

static double *bucket(const struct job *j, int i)
{
    return j->values + (size_t)i * j->count;
}

/* The work for one value. */
static double value_of(const struct job *j, size_t k)
{
    double x = (double)k;

    for (int round = 0; round < j->rounds; round++)
        x = x * 0.5 + 1;
    return x;
}

static void compute(const struct job *j, int i)
{
    double *v = bucket(j, i);

    for (size_t k = 0; k < j->count; k++)
        v[k] = value_of(j, k);
}

static void check(const struct job *j)
{
    for (int i = 0; i < j->buckets; i++)
        for (size_t k = 0; k < j->count; k += CHECKED) {
            double wanted = value_of(j, k) * ml_size(j->world);

            if (fabs(bucket(j, i)[k] - wanted) > 1e-12 * wanted)
                ml_abort(1, "a sum is wrong");
        }
}

static void sum_waiting(const struct job *j, int i)
{
    must(ml_all_reduce(j->world, bucket(j, i), bucket(j, i), j->count, ML_FLOAT64, ML_SUM));
}

/* --- the ways ----------------------------------------------------------------------------------
 */

static void only_compute(const struct job *j)
{
    for (int i = 0; i < j->buckets; i++)
        compute(j, i);
}

static void only_sum(const struct job *j)
{
    for (int i = 0; i < j->buckets; i++)
        sum_waiting(j, i);
}

static void one_after_the_other(const struct job *j)
{
    for (int i = 0; i < j->buckets; i++) {
        compute(j, i);
        sum_waiting(j, i);
    }
    check(j);
}

static void overlapped(const struct job *j)
{
    ml_request *requests[BUCKETS_MOST];

    for (int i = 0; i < j->buckets; i++) {
        double *v = bucket(j, i);

        compute(j, i);
        must(ml_start_all_reduce(j->world, v, v, j->count, ML_FLOAT64, ML_SUM, &requests[i]));
    }
    for (int i = 0; i < j->buckets; i++)
        must(ml_wait(requests[i]));
    check(j);
}

/* How long a way takes on the slowest rank, in seconds. */
static double timed(const struct job *j, void (*way)(const struct job *))
{
    struct timespec begin, end;
    double seconds;

    must(ml_barrier(j->world));
    clock_gettime(CLOCK_MONOTONIC, &begin);
    way(j);
    clock_gettime(CLOCK_MONOTONIC, &end);
    seconds = (double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) / 1e9;
    must(ml_all_reduce(j->world, &seconds, &seconds, 1, ML_FLOAT64, ML_MAX));
    return seconds;
}

/* Finds how many rounds make computing take about as long as summing, from a few of them. */
static void balance(struct job *j, double sum_seconds)
{
    enum { FEW = 16 };
    double rounds;

    j->rounds = FEW;
    rounds = FEW * sum_seconds / timed(j, only_compute);
    j->rounds = rounds < 1 ? 1 : rounds > 1e6 ? 1000000 : (int)rounds;
}

/* All of the shorter part can be hidden, and none of it. The ways are timed one after the other, so
 * that on a busy machine the difference of their times may be anything. */
static void hidden_print(double share)
{
    const double slack = 0.1;

    if (share < -slack || share > 1 + slack)
        puts("hidden: too noisy to tell");
    else
        printf("hidden: %.0f %% of the shorter one\n", 100 * fmin(fmax(share, 0), 1));
}

static void report(struct job *j)
{
    double summing = timed(j, only_sum), computing, waiting, overlapping, shorter;

    balance(j, summing);
    computing = timed(j, only_compute);
    waiting = timed(j, one_after_the_other);
    overlapping = timed(j, overlapped);
    summing = timed(j, only_sum);
    shorter = summing < computing ? summing : computing;
    if (ml_rank(j->world) != 0)
        return;
    printf("%d buckets of %.1f MiB, %d ranks, in ms:\n", j->buckets,
           (double)j->count * sizeof(*j->values) / (1 << 20), ml_size(j->world));
    printf("computing alone        %9.2f\nsumming alone          %9.2f\n", computing * 1e3,
           summing * 1e3);
    printf("one after the other    %9.2f\noverlapped             %9.2f\n", waiting * 1e3,
           overlapping * 1e3);
    hidden_print((waiting - overlapping) / shorter);
}

int main(int argc, char **argv)
{
    struct job j = {.buckets = argc > 1 ? atoi(argv[1]) : 16};
    double mib = argc > 2 ? atof(argv[2]) : 4;

    if (j.buckets < 1 || j.buckets > BUCKETS_MOST || mib <= 0 || mib > 1024) {
        fprintf(stderr, "usage: overlap [BUCKETS [MIB]], up to %d buckets of 1024 MiB\n",
                BUCKETS_MOST);
        return 2;
    }
    if (ml_init(&j.world)) {
        fprintf(stderr, "overlap: %s\n", ml_error());
        return 1;
    }
    j.count = (size_t)(mib * (1 << 20)) / sizeof(*j.values);
    j.values = calloc((size_t)j.buckets * j.count, sizeof(*j.values));
    if (!j.values)
        ml_abort(1, "out of memory");
    report(&j);
    free(j.values);
    return ml_finalize() ? 1 : 0;
}

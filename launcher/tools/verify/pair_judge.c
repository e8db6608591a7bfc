/* SPDX-License-Identifier: MIT */
#include "launcher/tools/verify/pair_judge.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double latency_most = 2.1; /* times the median */
/* As a share of the best. TCP and emulated RDMA take processors, and busy ones halve the bandwidth
 * easily. */
static const double bandwidth_least = 0.93, busy_bandwidth_least = 0.5;
static const double rate_least = 0.9;      /* as a share of the rate of the ports */
static const double uneven_most = 3;       /* the 99th percentile: times the median of the way */
static const double busy_uneven_most = 10; /* and times the median 99th percentile of the class */
static const double steady_most = 2;       /* times the least figure of a way */

bool pair_judge_is_alike(const struct verified_pair *a, const struct verified_way *way,
                         const struct verified_pair *b, const struct verified_way *other)
{
    return a->is_hardware == b->is_hardware && strcmp(a->backend, b->backend) == 0 &&
           way->rate == other->rate;
}

struct placed_figure {
    double value;
    size_t at;
};

static int figures_compare(const void *a, const void *b)
{
    double x = ((const struct placed_figure *)a)->value;
    double y = ((const struct placed_figure *)b)->value;

    return (x > y) - (x < y);
}

/* If the number of figures is even, the lower one of the two in the middle. */
static struct placed_figure median(struct placed_figure *list, size_t count)
{
    qsort(list, count, sizeof(*list), figures_compare);
    return list[(count - 1) / 2];
}

void pair_judge_refer(struct pair_reference *out, const struct verified_pair *pairs, size_t count,
                      size_t at, int way)
{
    const struct verified_way *mine = &pairs[at].ways[way];
    size_t most = count * RDMA_RAILS, known = 0;
    struct placed_figure *us = calloc(most, sizeof(*us)), *p99 = calloc(most, sizeof(*p99));

    *out = (struct pair_reference){mine->rail.us, mine->rail.p99_us, 0, at, at};
    for (size_t i = 0; i < count; i++) {
        for (int k = 0; k < pairs[i].count; k++) {
            const struct verified_way *w = &pairs[i].ways[k];
            double best = w->rail.there > w->rail.back ? w->rail.there : w->rail.back;

            if (!pair_judge_is_alike(&pairs[at], mine, &pairs[i], w))
                continue;
            if (best > out->best || (best == out->best && out->best_at == at)) {
                out->best = best;
                out->best_at = i;
            }
            if (us && p99) {
                us[known] = (struct placed_figure){w->rail.us, i};
                p99[known++] = (struct placed_figure){w->rail.p99_us, i};
            }
        }
    }
    if (known > 0) {
        out->us = median(us, known).value;
        out->median_at = us[(known - 1) / 2].at;
        out->p99_us = median(p99, known).value;
    }
    free(us);
    free(p99);
}

static double slower_way(const struct verified_way *w)
{
    return w->rail.there < w->rail.back ? w->rail.there : w->rail.back;
}

static void extent_add(struct pair_extent *e, double value)
{
    if (e->most <= 0 || value < e->least)
        e->least = value;
    if (value > e->most)
        e->most = value;
}

void pair_judge_extend(struct verified_way *w)
{
    extent_add(&w->us, w->rail.us);
    extent_add(&w->p99_us, w->rail.p99_us);
    extent_add(&w->slower, slower_way(w));
}

bool pair_judge_is_steady(const struct verified_way *w)
{
    return w->us.most <= steady_most * w->us.least &&
           w->p99_us.most <= steady_most * w->p99_us.least &&
           w->slower.most <= steady_most * w->slower.least;
}

static double bandwidth_bound(const struct verified_pair *p)
{
    return p->is_hardware ? bandwidth_least : busy_bandwidth_least;
}

unsigned pair_judge(const struct verified_pair *p, const struct verified_way *w,
                    const struct pair_reference *against)
{
    unsigned trouble = 0;

    if (w->rail.us > latency_most * against->us)
        trouble |= PAIR_IS_LATE;
    if (slower_way(w) < bandwidth_bound(p) * against->best)
        trouble |= PAIR_IS_SLOW;
    if (p->is_hardware && slower_way(w) < rate_least * w->rate)
        trouble |= PAIR_IS_BELOW_RATE;
    if (w->rail.p99_us > uneven_most * w->rail.us &&
        (p->is_hardware || w->rail.p99_us > busy_uneven_most * against->p99_us))
        trouble |= PAIR_IS_UNEVEN;
    return trouble;
}

/* "rdma (mlx5_0 and mlx5_1)". */
static void way_describe(const struct verified_pair *p, const struct verified_way *w, char *out,
                         size_t size)
{
    if (w->rail.ports[0][0])
        snprintf(out, size, "%s (%s and %s)", p->backend, w->rail.ports[0], w->rail.ports[1]);
    else
        snprintf(out, size, "%s", p->backend);
}

void pair_judge_report(struct finding_list *findings, const struct verified_pair *p, int way,
                       const char *a, const char *b)
{
    const struct verified_way *w = &p->ways[way];
    bool is_back = w->rail.back < w->rail.there; /* the slower direction */
    const char *from = is_back ? b : a, *to = is_back ? a : b;
    double slower = slower_way(w);
    char over[2 * PAIR_PORT + 32];

    way_describe(p, w, over, sizeof(over));
    if (w->trouble & PAIR_IS_LATE)
        finding_add(findings, FINDING_LATENCY, a, b,
                    "8 bytes take %.1f us over %s, %.1f times the median of all pairs, %.1f us (at "
                    "most %.1f times)",
                    w->rail.us, over, w->rail.us / w->against.us, w->against.us, latency_most);
    else if (w->trouble & PAIR_IS_SLOW)
        finding_add(findings, FINDING_BANDWIDTH, a, b,
                    "%.3f GB/s from %s to %s over %s, %.0f %% of the best pair's %.3f GB/s (at "
                    "least %.0f %%)",
                    slower, from, to, over, slower / w->against.best * 100, w->against.best,
                    bandwidth_bound(p) * 100);
    else if (w->trouble & PAIR_IS_BELOW_RATE)
        finding_add(findings, FINDING_PORT_RATE, a, b,
                    "%.3f GB/s from %s to %s over %s, %.0f %% of the %.3f GB/s that its ports "
                    "carry (at least %.0f %%)",
                    slower, from, to, over, slower / w->rate * 100, w->rate, rate_least * 100);
    else if (w->trouble & PAIR_IS_UNEVEN)
        finding_add(findings, FINDING_JITTER, a, b,
                    "of 100 messages of 8 bytes over %s one takes more than %.1f us, %.1f times "
                    "the median, %.1f us (at most %.0f times)",
                    over, w->rail.p99_us, w->rail.p99_us / w->rail.us, w->rail.us, uneven_most);
}

/* SPDX-License-Identifier: MIT */
/*
 * verify_links.c: traffic between all pairs of hosts, and which pairs are slower than the others.
 * n hosts meet in n - 1 rounds of disjoint pairs (n rounds if n is odd), as in a tournament. A pair
 * that looks slow is measured again, alone, and its better figures are kept; only what is slow each
 * time is a finding. The rule and its factors are those of NVIDIA's ClusterKit.
 */
#include "common/text/text_json.h"
#include "launcher/verify/pair_run.h"
#include "launcher/verify/verify_groups.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TESTS_AGAIN = 3, JOBS_AT_ONCE = 32 };

static const double latency_most = 2.1; /* times the median */
/* Of the best. Over TCP the processors are the bottleneck, and busy ones halve it easily. */
static const double bandwidth_least = 0.93, tcp_bandwidth_least = 0.5;

/* bench sends 64 messages at once, at least 10 times: a few seconds even at 100 Mb/s. */
static const char *const latency_words[] = {"lat", "--sizes", "8", NULL};
static const char *const bandwidth_words[] = {"bw", "--sizes", "64K", NULL};

struct verified_link {
    int a, b;
    double us, gigabytes; /* the best so far */
    char backend[8], error[256];
};

struct links {
    struct verify *v;
    struct verified_link *list;
    size_t count;
    struct pair_run *runs; /* room for one round */
};

static void figures_keep(struct verified_link *l, const struct pair_run *latency,
                         const struct pair_run *bandwidth)
{
    const char *error = latency->error[0] ? latency->error : bandwidth->error;

    memcpy(l->error, error, sizeof(l->error));
    memcpy(l->backend, bandwidth->backend, sizeof(l->backend));
    if (!error[0] && (l->us <= 0 || latency->us < l->us))
        l->us = latency->us;
    if (!error[0] && bandwidth->gigabytes > l->gigabytes)
        l->gigabytes = bandwidth->gigabytes;
}

/* Measures some links at once. */
static int links_measure(struct links *s, struct verified_link *const *some, size_t count,
                         struct fault *why)
{
    struct pair_run *latency = s->runs, *bandwidth = s->runs + count;
    int rc;

    for (size_t i = 0; i < count; i++) {
        latency[i] = (struct pair_run){.a = some[i]->a, .b = some[i]->b};
        bandwidth[i] = latency[i];
    }
    rc = pair_run_all(latency, count, &s->v->c, latency_words, why);
    if (!rc)
        rc = pair_run_all(bandwidth, count, &s->v->c, bandwidth_words, why);
    for (size_t i = 0; i < count && !rc; i++)
        figures_keep(some[i], &latency[i], &bandwidth[i]);
    return rc;
}

/* The round in which a and b of `n` hosts meet; n is even. The last host stays, the others move
 * around it. */
static int round_of(int a, int b, int n)
{
    if (b == n - 1)
        return 2 * a % (n - 1);
    return (a + b) % (n - 1);
}

static int rounds_run(struct links *s, int hosts, struct fault *why)
{
    int n = hosts + hosts % 2, rc = 0;
    struct verified_link **some = calloc((size_t)n, sizeof(*some));

    if (!some)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    for (int round = 0; round < n - 1 && !rc; round++) {
        size_t count = 0, at = 0;

        for (int a = 0; a < hosts; a++)
            for (int b = a + 1; b < hosts; b++, at++)
                if (round_of(a, b, n) == round &&
                    verify_reach_is_mutual(s->v, s->list[at].a, s->list[at].b))
                    some[count++] = &s->list[at];
        for (size_t i = 0; i < count && !rc; i += JOBS_AT_ONCE)
            rc = links_measure(s, some + i, count - i < JOBS_AT_ONCE ? count - i : JOBS_AT_ONCE,
                               why);
    }
    free(some);
    return rc;
}

static int numbers_compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* The median latency and the best bandwidth of the links of that backend. */
static void class_judge(const struct links *s, const char *backend, double *median, double *best)
{
    double *all = calloc(s->count + 1, sizeof(*all));
    size_t count = 0;

    *median = HUGE_VAL;
    *best = 0;
    for (size_t i = 0; i < s->count && all; i++) {
        const struct verified_link *l = &s->list[i];

        if (l->error[0] || l->us <= 0 || strcmp(l->backend, backend) != 0)
            continue;
        all[count++] = l->us;
        *best = l->gigabytes > *best ? l->gigabytes : *best;
    }
    if (count > 0) {
        qsort(all, count, sizeof(*all), numbers_compare);
        *median = all[(count - 1) / 2];
    }
    free(all);
}

static double bandwidth_bound(const struct verified_link *l)
{
    return strcmp(l->backend, "rdma") == 0 ? bandwidth_least : tcp_bandwidth_least;
}

static bool link_is_bad(const struct links *s, const struct verified_link *l)
{
    double median, best;

    class_judge(s, l->backend, &median, &best);
    if (!l->error[0] && l->us <= 0)
        return false; /* not tried, as they cannot connect */
    return l->error[0] || l->us > latency_most * median || l->gigabytes < bandwidth_bound(l) * best;
}

static int bad_ones_repeat(struct links *s, struct fault *why)
{
    int rc = 0;

    for (int again = 0; again < TESTS_AGAIN; again++) {
        for (size_t i = 0; i < s->count && !rc; i++) {
            struct verified_link *l = &s->list[i];

            if (link_is_bad(s, l) && (!l->error[0] || again == 0))
                rc = links_measure(s, &l, 1, why);
        }
    }
    return rc;
}

static void link_report(const struct links *s, const struct verified_link *l)
{
    struct verify *v = s->v;
    const char *a = verify_name(v, l->a), *b = verify_name(v, l->b);
    double median, best;

    if (l->error[0]) {
        finding_add(&v->findings, FINDING_LINK, a, b, "mlaunch bench fails between them: %s",
                    l->error);
        return;
    }
    if (l->us <= 0)
        return;
    json_array_append_new(v->links, json_pack("{so so so sf sf}", "host", text_json(a), "peer",
                                              text_json(b), "backend", text_json(l->backend), "us",
                                              l->us, "gigabytes_per_s", l->gigabytes));
    class_judge(s, l->backend, &median, &best);
    if (l->us > latency_most * median)
        finding_add(&v->findings, FINDING_LATENCY, a, b,
                    "8 bytes take %.1f us over %s, %.1f times the median of all pairs, %.1f us (at "
                    "most %.1f times)",
                    l->us, l->backend, l->us / median, median, latency_most);
    if (l->gigabytes < bandwidth_bound(l) * best)
        finding_add(&v->findings, FINDING_BANDWIDTH, a, b,
                    "%.3f GB/s over %s, %.0f %% of the best pair's %.3f GB/s (at least %.0f %%)",
                    l->gigabytes, l->backend, l->gigabytes / best * 100, best,
                    bandwidth_bound(l) * 100);
}

/* A link for each pair of hosts that are there, in the order in which rounds_run() looks for
 * them; *hosts are there. */
static int links_make(struct links *s, int *hosts, struct fault *why)
{
    int count = s->v->c.hosts->count, known = 0;
    int *there = calloc((size_t)count, sizeof(*there));

    for (int i = 0; i < count && there; i++)
        if (s->v->survey.hosts[i].is_known && !s->v->c.answers[i].error[0])
            there[known++] = i;
    s->list = calloc((size_t)known * (size_t)known + 1, sizeof(*s->list));
    s->runs = calloc((size_t)known + 2, sizeof(*s->runs));
    if (!there || !s->list || !s->runs) {
        free(there);
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    }
    for (int i = 0; i < known; i++)
        for (int k = i + 1; k < known; k++)
            s->list[s->count++] = (struct verified_link){.a = there[i], .b = there[k]};
    free(there);
    *hosts = known;
    return 0;
}

int verify_links(struct verify *v, struct fault *why)
{
    struct links s = {.v = v};
    int hosts = 0, rc = links_make(&s, &hosts, why);

    v->links = json_array();
    if (!rc && hosts > 1)
        rc = rounds_run(&s, hosts, why);
    if (!rc)
        rc = bad_ones_repeat(&s, why);
    for (size_t i = 0; i < s.count && !rc; i++)
        link_report(&s, &s.list[i]);
    free(s.list);
    free(s.runs);
    return rc;
}

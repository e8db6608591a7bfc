/* SPDX-License-Identifier: MIT */
/*
 * verify_pairs.c: traffic between all pairs of hosts, and which pairs are worse than the others.
 * n hosts meet in n - 1 rounds of disjoint pairs (n rounds if n is odd), as in a tournament. A pair
 * that looks bad is measured three times again, each time beside the pairs that it is judged by and
 * with half as many other pairs at once; only what is bad each time is a finding. What a busy
 * machine, or a switch that all pairs use, takes from both is no difference then. A pair whose own
 * figures differ widely from time to time is measured more often, since load that comes and goes
 * easily hits one pair a few times in a row.
 */
#include "common/text/text_json.h"
#include "launcher/tools/verify/pair_judge.h"
#include "launcher/tools/verify/verify_groups.h"

#include <stdlib.h>
#include <string.h>

enum { TESTS_AGAIN = 3, UNSTEADY_TESTS_AGAIN = 10, JOBS_AT_ONCE = 32 };

/* bench link sends at least 40 messages each way: a few seconds even at 100 Mb/s. Hardware needs
 * longer ones for its full rate. */
static const char hardware_bytes[] = "4M", other_bytes[] = "256K";

struct pair_survey {
    struct verify *v;
    struct verified_pair *list;
    size_t count;
    int hosts;             /* those that are there */
    struct pair_run *runs; /* room for one group, as the others below */
    struct verified_pair **group;
    bool *is_used; /* per host: it is in the group */
};

/* --- measuring -------------------------------------------------------------------------------- */

static double rate_between(const struct verify *v, const struct verified_pair *p,
                           const struct pair_rail *rail)
{
    double a = verify_device_rate(&v->survey.hosts[p->a], rail->ports[0]);
    double b = verify_device_rate(&v->survey.hosts[p->b], rail->ports[1]);

    return a < b ? a : b;
}

/* What was wrong before stays so. */
static void run_keep(const struct verify *v, struct verified_pair *p, const struct pair_run *r)
{
    memcpy(p->error, r->error, sizeof(p->error));
    p->errors += r->errors;
    p->count = r->count < RDMA_RAILS ? r->count : RDMA_RAILS;
    for (int i = 0; i < p->count; i++) {
        p->ways[i].rail = r->rails[i];
        p->ways[i].rate = p->is_hardware ? rate_between(v, p, &r->rails[i]) : 0;
        pair_judge_extend(&p->ways[i]);
    }
}

/* Measures links without a common host at once. */
static int pairs_measure(struct pair_survey *s, struct verified_pair *const *some, size_t count,
                         struct fault *why)
{
    int rc = 0;

    for (size_t at = 0; at < count && !rc; at += JOBS_AT_ONCE) {
        size_t now = count - at < JOBS_AT_ONCE ? count - at : JOBS_AT_ONCE;

        for (size_t i = 0; i < now; i++)
            s->runs[i] = (struct pair_run){.a = some[at + i]->a,
                                           .b = some[at + i]->b,
                                           .backend = some[at + i]->backend,
                                           .bytes = some[at + i]->is_hardware ? hardware_bytes
                                                                              : other_bytes};
        rc = pair_run_all(s->runs, now, &s->v->c, why);
        for (size_t i = 0; i < now && !rc; i++)
            run_keep(s->v, some[at + i], &s->runs[i]);
    }
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

static int rounds_run(struct pair_survey *s, struct fault *why)
{
    int n = s->hosts + s->hosts % 2, rc = 0;

    for (int round = 0; round < n - 1 && !rc; round++) {
        size_t count = 0, at = 0;

        for (int a = 0; a < s->hosts; a++)
            for (int b = a + 1; b < s->hosts; b++, at++)
                if (round_of(a, b, n) == round &&
                    verify_reach_is_mutual(s->v, s->list[at].a, s->list[at].b))
                    s->group[count++] = &s->list[at];
        rc = pairs_measure(s, s->group, count, why);
    }
    return rc;
}

/* --- measuring again -------------------------------------------------------------------------- */

/* Mostly all ways are of one class, so that of the one before is looked at only once. */
static void pairs_judge(struct pair_survey *s)
{
    const struct verified_pair *last = NULL;
    const struct verified_way *before = NULL;

    for (size_t at = 0; at < s->count; at++) {
        struct verified_pair *p = &s->list[at];

        for (int i = 0; i < p->count; i++) {
            struct verified_way *w = &p->ways[i];

            if (before && pair_judge_is_alike(p, w, last, before))
                w->against = before->against;
            else
                pair_judge_refer(&w->against, s->list, s->count, at, i);
            w->trouble = pair_judge(p, w, &w->against);
            last = p;
            before = w;
        }
    }
}

static bool is_suspect(const struct verified_pair *p)
{
    for (int i = 0; i < p->count; i++)
        if (p->ways[i].trouble)
            return true;
    return false;
}

static bool is_steady(const struct verified_pair *p)
{
    for (int i = 0; i < p->count; i++)
        if (p->ways[i].trouble && !pair_judge_is_steady(&p->ways[i]))
            return false;
    return true;
}

/* Measures a link by which others are judged, and puts its new figures into the reference. */
static int reference_renew(struct pair_survey *s, struct pair_reference *r, size_t at,
                           struct fault *why)
{
    struct verified_pair fresh = s->list[at], *only = &fresh;
    int rc = pairs_measure(s, &only, 1, why);

    if (rc || fresh.count == 0)
        return rc; /* the old figures stay */
    if (at == r->median_at) {
        r->us = fresh.ways[0].rail.us;
        r->p99_us = fresh.ways[0].rail.p99_us;
    }
    if (at == r->best_at) {
        r->best = 0;
        for (int i = 0; i < fresh.count; i++) {
            double there = fresh.ways[i].rail.there, back = fresh.ways[i].rail.back;

            r->best = there > r->best ? there : r->best;
            r->best = back > r->best ? back : r->best;
        }
    }
    return 0;
}

/* One time more for the links of the group, at once. */
static int group_repeat(struct pair_survey *s, size_t count, struct fault *why)
{
    int rc = 0;

    for (size_t i = 0; i < count && !rc; i++) {
        struct verified_pair *p = s->group[i];

        for (int k = 0; k < p->count && !rc; k++) {
            struct pair_reference *r = &p->ways[k].against;

            if (!p->ways[k].trouble)
                continue;
            rc = reference_renew(s, r, r->median_at, why);
            if (!rc && r->best_at != r->median_at)
                rc = reference_renew(s, r, r->best_at, why);
        }
    }
    if (!rc)
        rc = pairs_measure(s, s->group, count, why);
    for (size_t i = 0; i < count && !rc; i++)
        for (int k = 0; k < s->group[i]->count; k++)
            s->group[i]->ways[k].trouble &=
                pair_judge(s->group[i], &s->group[i]->ways[k], &s->group[i]->ways[k].against);
    return rc;
}

/* Measures all suspects once more, at most `most` at once; or those that are unsteady. */
static int suspects_repeat(struct pair_survey *s, size_t most, bool only_unsteady,
                           struct fault *why)
{
    bool *is_due = calloc(s->count + 1, sizeof(*is_due));
    size_t count = 1;
    int rc = is_due ? 0 : fault_set(why, ML_ERR_MEMORY, "out of memory");

    for (size_t i = 0; i < s->count && !rc; i++)
        is_due[i] = is_suspect(&s->list[i]) && !(only_unsteady && is_steady(&s->list[i]));
    while (!rc && count > 0) {
        count = 0;
        memset(s->is_used, 0, (size_t)s->v->c.hosts->count * sizeof(*s->is_used));
        for (size_t i = 0; i < s->count && count < most; i++) {
            struct verified_pair *p = &s->list[i];

            if (!is_due[i] || s->is_used[p->a] || s->is_used[p->b])
                continue;
            is_due[i] = false;
            s->is_used[p->a] = s->is_used[p->b] = true;
            s->group[count++] = p;
        }
        rc = group_repeat(s, count, why);
    }
    free(is_due);
    return rc;
}

static int bad_ones_repeat(struct pair_survey *s, struct fault *why)
{
    size_t most = (size_t)s->hosts / 2;
    int rc = 0;

    for (size_t i = 0; i < s->count && !rc; i++) {
        struct verified_pair *p = &s->list[i];

        if (p->error[0])
            rc = pairs_measure(s, &p, 1, why);
    }
    pairs_judge(s);
    for (int again = 0; again < UNSTEADY_TESTS_AGAIN && !rc; again++) {
        most = most > 1 ? most / 2 : 1;
        rc = suspects_repeat(s, most, again >= TESTS_AGAIN, why);
    }
    return rc;
}

/* --- all -------------------------------------------------------------------------------------- */

static void way_list(const struct pair_survey *s, const struct verified_pair *p, int way)
{
    const struct pair_rail *r = &p->ways[way].rail;
    json_t *one =
        json_pack("{so so ss sf sf sf sf sf}", "host", text_json(verify_name(s->v, p->a)), "peer",
                  text_json(verify_name(s->v, p->b)), "backend", p->backend, "us", r->us, "p99_us",
                  r->p99_us, "there_GBps", r->there, "back_GBps", r->back, "both_GBps", r->both);

    if (r->rail >= 0)
        json_object_set_new(one, "rail", json_integer(r->rail));
    if (r->ports[0][0])
        json_object_set_new(one, "ports",
                            json_pack("[oo]", text_json(r->ports[0]), text_json(r->ports[1])));
    if (p->ways[way].rate > 0)
        json_object_set_new(one, "rate_GBps", json_real(p->ways[way].rate));
    json_array_append_new(s->v->pairs, one);
}

static void pair_report(const struct pair_survey *s, const struct verified_pair *p)
{
    struct verify *v = s->v;
    const char *a = verify_name(v, p->a), *b = verify_name(v, p->b);

    if (p->error[0])
        finding_add(&v->findings, FINDING_LINK, a, b, "mlaunch bench link fails over %s: %s",
                    p->backend, p->error);
    if (p->errors > 0)
        finding_add(&v->findings, FINDING_DATA, a, b,
                    "%lld bytes arrived wrong over %s (at most 0)", p->errors, p->backend);
    for (int i = 0; i < p->count; i++) {
        way_list(s, p, i);
        if (p->errors == 0)
            pair_judge_report(&v->findings, p, i, a, b);
    }
}

static bool is_emulated(const struct host_facts *h)
{
    for (int i = 0; i < h->device_count; i++)
        if (!h->devices[i].driver[0])
            return true;
    return false;
}

static struct verified_pair pair_make(const struct verify *v, int a, int b)
{
    const struct host_facts *one = &v->survey.hosts[a], *other = &v->survey.hosts[b];
    const char *backend = query_command_flag(&v->c, "backend");
    bool is_rdma = host_facts_has_port(one) && host_facts_has_port(other);

    if (backend)
        is_rdma = strcmp(backend, "rdma") == 0;
    return (struct verified_pair){.a = a,
                                  .b = b,
                                  .backend = is_rdma ? "rdma" : "tcp",
                                  .is_hardware =
                                      is_rdma && !is_emulated(one) && !is_emulated(other)};
}

/* A link for each pair of hosts that are there, in the order in which rounds_run() looks for
 * them. */
static int pairs_make(struct pair_survey *s, struct fault *why)
{
    size_t count = (size_t)s->v->c.hosts->count, known = 0;
    int *there = calloc(count, sizeof(*there));

    for (size_t i = 0; i < count && there; i++)
        if (s->v->survey.hosts[i].is_known && !s->v->c.answers[i].error[0])
            there[known++] = (int)i;
    s->hosts = (int)known;
    s->list = calloc(known * known + 1, sizeof(*s->list));
    s->runs = calloc(JOBS_AT_ONCE, sizeof(*s->runs));
    s->group = calloc(known + 1, sizeof(struct verified_pair *));
    s->is_used = calloc(count, sizeof(*s->is_used));
    if (!there || !s->list || !s->runs || !s->group || !s->is_used) {
        free(there);
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    }
    for (size_t i = 0; i < known; i++)
        for (size_t k = i + 1; k < known; k++)
            s->list[s->count++] = pair_make(s->v, there[i], there[k]);
    free(there);
    return 0;
}

int verify_pairs(struct verify *v, struct fault *why)
{
    struct pair_survey s = {.v = v};
    int rc = pairs_make(&s, why);

    v->pairs = json_array();
    if (!rc)
        rc = rounds_run(&s, why);
    if (!rc)
        rc = bad_ones_repeat(&s, why);
    for (size_t i = 0; i < s.count && !rc; i++)
        pair_report(&s, &s.list[i]);
    free(s.list);
    free(s.runs);
    free(s.group);
    free(s.is_used);
    return rc;
}

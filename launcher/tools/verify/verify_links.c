/* SPDX-License-Identifier: MIT */
/*
 * verify_links.c: traffic between all pairs of hosts, and which pairs are worse than the others.
 * n hosts meet in n - 1 rounds of disjoint pairs (n rounds if n is odd), as in a tournament. A pair
 * that looks bad is measured three times again, each time beside the pairs that it is judged by and
 * with half as many other pairs at once; only what is bad each time is a finding. What a busy
 * machine, or a switch that all pairs use, takes from both is no difference then. A pair whose own
 * figures differ widely from time to time is measured more often, since load that comes and goes
 * easily hits one pair a few times in a row.
 */
#include "common/text/text_json.h"
#include "launcher/tools/verify/link_judge.h"
#include "launcher/tools/verify/verify_groups.h"

#include <stdlib.h>
#include <string.h>

enum { TESTS_AGAIN = 3, UNSTEADY_TESTS_AGAIN = 10, JOBS_AT_ONCE = 32 };

/* bench link sends at least 40 messages each way: a few seconds even at 100 Mb/s. Hardware needs
 * longer ones for its full rate. */
static const char hardware_bytes[] = "4M", other_bytes[] = "256K";

struct links {
    struct verify *v;
    struct verified_link *list;
    size_t count;
    int hosts;             /* those that are there */
    struct pair_run *runs; /* room for one group, as the others below */
    struct verified_link **group;
    bool *is_used; /* of each host: it is in the group */
};

/* --- measuring -------------------------------------------------------------------------------- */

static double rate_between(const struct verify *v, const struct verified_link *l,
                           const struct pair_rail *rail)
{
    double a = verify_device_rate(&v->survey.hosts[l->a], rail->ports[0]);
    double b = verify_device_rate(&v->survey.hosts[l->b], rail->ports[1]);

    return a < b ? a : b;
}

/* What was wrong before stays so. */
static void run_keep(const struct verify *v, struct verified_link *l, const struct pair_run *r)
{
    memcpy(l->error, r->error, sizeof(l->error));
    l->errors += r->errors;
    l->count = r->count < RDMA_RAILS ? r->count : RDMA_RAILS;
    for (int i = 0; i < l->count; i++) {
        l->ways[i].rail = r->rails[i];
        l->ways[i].rate = l->is_hardware ? rate_between(v, l, &r->rails[i]) : 0;
        link_judge_extend(&l->ways[i]);
    }
}

/* Measures links without a common host at once. */
static int links_measure(struct links *s, struct verified_link *const *some, size_t count,
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

static int rounds_run(struct links *s, struct fault *why)
{
    int n = s->hosts + s->hosts % 2, rc = 0;

    for (int round = 0; round < n - 1 && !rc; round++) {
        size_t count = 0, at = 0;

        for (int a = 0; a < s->hosts; a++)
            for (int b = a + 1; b < s->hosts; b++, at++)
                if (round_of(a, b, n) == round &&
                    verify_reach_is_mutual(s->v, s->list[at].a, s->list[at].b))
                    s->group[count++] = &s->list[at];
        rc = links_measure(s, s->group, count, why);
    }
    return rc;
}

/* --- measuring again -------------------------------------------------------------------------- */

/* Mostly all ways are of one class, so that of the one before is looked at only once. */
static void links_judge(struct links *s)
{
    const struct verified_link *last = NULL;
    const struct link_way *before = NULL;

    for (size_t at = 0; at < s->count; at++) {
        struct verified_link *l = &s->list[at];

        for (int i = 0; i < l->count; i++) {
            struct link_way *w = &l->ways[i];

            if (before && link_judge_is_alike(l, w, last, before))
                w->against = before->against;
            else
                link_judge_refer(&w->against, s->list, s->count, at, i);
            w->trouble = link_judge(l, w, &w->against);
            last = l;
            before = w;
        }
    }
}

static bool is_suspect(const struct verified_link *l)
{
    for (int i = 0; i < l->count; i++)
        if (l->ways[i].trouble)
            return true;
    return false;
}

static bool is_steady(const struct verified_link *l)
{
    for (int i = 0; i < l->count; i++)
        if (l->ways[i].trouble && !link_judge_is_steady(&l->ways[i]))
            return false;
    return true;
}

/* Measures a link by which others are judged, and puts its new figures into the reference. */
static int reference_renew(struct links *s, struct link_reference *r, size_t at, struct fault *why)
{
    struct verified_link fresh = s->list[at], *only = &fresh;
    int rc = links_measure(s, &only, 1, why);

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
static int group_repeat(struct links *s, size_t count, struct fault *why)
{
    int rc = 0;

    for (size_t i = 0; i < count && !rc; i++) {
        struct verified_link *l = s->group[i];

        for (int k = 0; k < l->count && !rc; k++) {
            struct link_reference *r = &l->ways[k].against;

            if (!l->ways[k].trouble)
                continue;
            rc = reference_renew(s, r, r->median_at, why);
            if (!rc && r->best_at != r->median_at)
                rc = reference_renew(s, r, r->best_at, why);
        }
    }
    if (!rc)
        rc = links_measure(s, s->group, count, why);
    for (size_t i = 0; i < count && !rc; i++)
        for (int k = 0; k < s->group[i]->count; k++)
            s->group[i]->ways[k].trouble &=
                link_judge(s->group[i], &s->group[i]->ways[k], &s->group[i]->ways[k].against);
    return rc;
}

/* Measures all suspects once more, at most `most` at once; or those that are unsteady. */
static int suspects_repeat(struct links *s, size_t most, bool only_unsteady, struct fault *why)
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
            struct verified_link *l = &s->list[i];

            if (!is_due[i] || s->is_used[l->a] || s->is_used[l->b])
                continue;
            is_due[i] = false;
            s->is_used[l->a] = s->is_used[l->b] = true;
            s->group[count++] = l;
        }
        rc = group_repeat(s, count, why);
    }
    free(is_due);
    return rc;
}

static int bad_ones_repeat(struct links *s, struct fault *why)
{
    size_t most = (size_t)s->hosts / 2;
    int rc = 0;

    for (size_t i = 0; i < s->count && !rc; i++) {
        struct verified_link *l = &s->list[i];

        if (l->error[0])
            rc = links_measure(s, &l, 1, why);
    }
    links_judge(s);
    for (int again = 0; again < UNSTEADY_TESTS_AGAIN && !rc; again++) {
        most = most > 1 ? most / 2 : 1;
        rc = suspects_repeat(s, most, again >= TESTS_AGAIN, why);
    }
    return rc;
}

/* --- all -------------------------------------------------------------------------------------- */

static void way_list(const struct links *s, const struct verified_link *l, int way)
{
    const struct pair_rail *r = &l->ways[way].rail;
    json_t *one =
        json_pack("{so so ss sf sf sf sf sf}", "host", text_json(verify_name(s->v, l->a)), "peer",
                  text_json(verify_name(s->v, l->b)), "backend", l->backend, "us", r->us, "p99_us",
                  r->p99_us, "there_GBps", r->there, "back_GBps", r->back, "both_GBps", r->both);

    if (r->rail >= 0)
        json_object_set_new(one, "rail", json_integer(r->rail));
    if (r->ports[0][0])
        json_object_set_new(one, "ports",
                            json_pack("[oo]", text_json(r->ports[0]), text_json(r->ports[1])));
    if (l->ways[way].rate > 0)
        json_object_set_new(one, "rate_GBps", json_real(l->ways[way].rate));
    json_array_append_new(s->v->links, one);
}

static void link_report(const struct links *s, const struct verified_link *l)
{
    struct verify *v = s->v;
    const char *a = verify_name(v, l->a), *b = verify_name(v, l->b);

    if (l->error[0])
        finding_add(&v->findings, FINDING_LINK, a, b, "mlaunch bench link fails over %s: %s",
                    l->backend, l->error);
    if (l->errors > 0)
        finding_add(&v->findings, FINDING_DATA, a, b,
                    "%lld bytes arrived wrong over %s (at most 0)", l->errors, l->backend);
    for (int i = 0; i < l->count; i++) {
        way_list(s, l, i);
        if (l->errors == 0)
            link_judge_report(&v->findings, l, i, a, b);
    }
}

static bool is_emulated(const struct host_facts *h)
{
    for (int i = 0; i < h->device_count; i++)
        if (!h->devices[i].driver[0])
            return true;
    return false;
}

static struct verified_link link_make(const struct verify *v, int a, int b)
{
    const struct host_facts *one = &v->survey.hosts[a], *other = &v->survey.hosts[b];
    const char *backend = query_command_flag(&v->c, "backend");
    bool is_rdma = host_facts_has_port(one) && host_facts_has_port(other);

    if (backend)
        is_rdma = strcmp(backend, "rdma") == 0;
    return (struct verified_link){.a = a,
                                  .b = b,
                                  .backend = is_rdma ? "rdma" : "tcp",
                                  .is_hardware =
                                      is_rdma && !is_emulated(one) && !is_emulated(other)};
}

/* A link for each pair of hosts that are there, in the order in which rounds_run() looks for
 * them. */
static int links_make(struct links *s, struct fault *why)
{
    size_t count = (size_t)s->v->c.hosts->count, known = 0;
    int *there = calloc(count, sizeof(*there));

    for (size_t i = 0; i < count && there; i++)
        if (s->v->survey.hosts[i].is_known && !s->v->c.answers[i].error[0])
            there[known++] = (int)i;
    s->hosts = (int)known;
    s->list = calloc(known * known + 1, sizeof(*s->list));
    s->runs = calloc(JOBS_AT_ONCE, sizeof(*s->runs));
    s->group = calloc(known + 1, sizeof(struct verified_link *));
    s->is_used = calloc(count, sizeof(*s->is_used));
    if (!there || !s->list || !s->runs || !s->group || !s->is_used) {
        free(there);
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    }
    for (size_t i = 0; i < known; i++)
        for (size_t k = i + 1; k < known; k++)
            s->list[s->count++] = link_make(s->v, there[i], there[k]);
    free(there);
    return 0;
}

int verify_links(struct verify *v, struct fault *why)
{
    struct links s = {.v = v};
    int rc = links_make(&s, why);

    v->links = json_array();
    if (!rc)
        rc = rounds_run(&s, why);
    if (!rc)
        rc = bad_ones_repeat(&s, why);
    for (size_t i = 0; i < s.count && !rc; i++)
        link_report(&s, &s.list[i]);
    free(s.list);
    free(s.runs);
    free(s.group);
    free(s.is_used);
    return rc;
}

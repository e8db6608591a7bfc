/* SPDX-License-Identifier: MIT */
#include "launcher/tools/verify/fitness.h"

#include "common/text/text_json.h"
#include "launcher/tools/verify/verify_groups.h"

#include <stdlib.h>
#include <string.h>

enum { TIMEOUT_MS = 10000 };

/* Whether the job suffers from it. What all jobs suffer from is none of the cases. */
static bool is_needed(const struct plan *p, enum finding_kind kind)
{
    bool is_rdma = strcmp(p->backend, "rdma") == 0;

    switch (kind) {
    case FINDING_UNREACHED:
    case FINDING_SLOW:
    case FINDING_FAR:
    case FINDING_NO_TMP:
        return true;
    case FINDING_NO_SHM:
        return strcmp(p->backend, "none") != 0 && !p->job.local_net;
    case FINDING_MEMLOCK:
    case FINDING_VERBS:
    case FINDING_ACCESS:
    case FINDING_NO_PORT:
    case FINDING_GID:
        return is_rdma;
    default:
        return false;
    }
}

static bool is_slow(enum finding_kind kind)
{
    return kind == FINDING_SLOW || kind == FINDING_FAR;
}

static json_t *unfit_make(int host, enum finding_kind kind, const char *text)
{
    return json_pack("{si sb sb so}", "host", host, "is_slow", (int)is_slow(kind), "is_lost",
                     (int)(kind == FINDING_UNREACHED), "text", text_json(text));
}

/* The worst finding of each host; of two that are alike the first. */
static void findings_choose(json_t **worst, const struct plan *p, const struct verify *v)
{
    for (size_t k = 0; k < v->findings.count; k++) {
        const struct verify_finding *f = &v->findings.list[k];

        for (int i = 0; i < v->c.hosts->count; i++) {
            if (f->host != verify_name(v, i) || !is_needed(p, f->kind))
                continue;
            if (worst[i] &&
                (is_slow(f->kind) || !json_is_true(json_object_get(worst[i], "is_slow"))))
                continue;
            json_decref(worst[i]);
            worst[i] = unfit_make(i, f->kind, f->text);
        }
    }
}

/* How many of the others it cannot connect to, or they to it, but for those that are left out
 * already. */
static int failures_count(const struct verify *v, json_t *const *worst, int host, int *peer)
{
    int count = 0;

    for (int i = 0; i < v->c.hosts->count; i++) {
        if (i == host || !v->survey.hosts[i].is_known || worst[i] ||
            verify_reach_is_mutual(v, i, host))
            continue;
        *peer = i;
        count++;
    }
    return count;
}

/* The finding that two hosts cannot connect to each other. */
static const char *failure_text(const struct verify *v, int a, int b)
{
    const char *one = verify_name(v, a), *other = verify_name(v, b);

    for (size_t k = 0; k < v->findings.count; k++) {
        const struct verify_finding *f = &v->findings.list[k];

        if (f->kind == FINDING_CONNECT &&
            ((f->host == one && f->peer == other) || (f->host == other && f->peer == one)))
            return f->text;
    }
    return "others cannot connect to it"; /* there are too many findings */
}

/* If two hosts cannot connect to each other, the one with more such peers is to blame; if both have
 * as many, the last one, so that spare hosts come first. */
static void connections_judge(json_t **worst, const struct verify *v)
{
    for (;;) {
        int most = 0, culprit = -1, peer = 0, of_peer = 0;

        for (int i = 0; i < v->c.hosts->count; i++) {
            int count = 0;

            if (v->survey.hosts[i].is_known && !worst[i])
                count = failures_count(v, worst, i, &peer);
            if (count > 0 && count >= most) {
                most = count;
                culprit = i;
                of_peer = peer;
            }
        }
        if (culprit < 0)
            return;
        worst[culprit] = unfit_make(culprit, FINDING_CONNECT, failure_text(v, culprit, of_peer));
    }
}

static json_t *list_make(const struct plan *p, const struct verify *v)
{
    json_t **worst = calloc((size_t)v->c.hosts->count, sizeof(json_t *)), *list = NULL;

    if (worst) {
        findings_choose(worst, p, v);
        connections_judge(worst, v);
        list = json_array();
    }
    for (int i = 0; worst && i < v->c.hosts->count; i++)
        if (worst[i])
            json_array_append_new(list, worst[i]);
    free(worst);
    return list;
}

json_t *fitness_find(const struct plan *p, struct fault *why)
{
    struct host_list hosts = {.count = p->where->host_count + p->where->spare_count};
    struct verify v = {.c = {.timeout_ms = TIMEOUT_MS,
                             .options = (struct options *)(uintptr_t)p->options,
                             .plan = (struct plan *)(uintptr_t)p,
                             .hosts = &hosts}};
    json_t *list = NULL;
    int rc = 0;

    hosts.hosts = calloc((size_t)hosts.count, sizeof(*hosts.hosts));
    if (!hosts.hosts)
        rc = fault_set(why, ML_ERR_MEMORY, "out of memory");
    for (int i = 0; !rc && i < hosts.count; i++)
        hosts.hosts[i] = *plan_host(p, i); /* what it points to stays the plan's */
    if (!rc)
        rc = verify_hosts_open(&v, why);
    if (!rc)
        rc = verify_hosts_ask(&v, why);
    if (!rc) {
        verify_hosts_judge(&v);
        list = v.findings.is_short ? NULL : list_make(p, &v);
        if (!list)
            fault_set(why, ML_ERR_MEMORY, "out of memory");
    }
    query_free(v.c.answers, hosts.count);
    if (hosts.hosts)
        verify_hosts_close(&v);
    free(hosts.hosts);
    return list;
}

/* SPDX-License-Identifier: MIT */
#include "launcher/input/plan/plan_growth.h"

#include "common/net/job_file.h"
#include "launcher/input/hosts/host_name.h"
#include "launcher/input/plan/launch_method.h"
#include "launcher/input/plan/plan_hosts.h"

#include <stdlib.h>
#include <string.h>

static int room_make(struct plan_growth *g, const struct plan *p, int count, struct fault *why)
{
    int room = plan_places(p) - p->where->size;

    if (count > room - g->rank_count)
        return fault_set(why, ML_ERR_ARGUMENT,
                         "there is room for %d more rank%s: a job can get %d beside those that it "
                         "began with",
                         room, room == 1 ? "" : "s", JOB_GROW_MOST);
    if (!g->ranks) {
        g->ranks = calloc((size_t)room, sizeof(*g->ranks));
        g->hosts = calloc((size_t)room, sizeof(*g->hosts));
    }
    return g->ranks && g->hosts ? 0 : fault_set(why, ML_ERR_MEMORY, "out of memory");
}

static void ranks_add(struct plan_growth *g, int index, int count)
{
    for (int i = 0; i < count; i++)
        g->ranks[g->rank_count++] = index;
}

int plan_growth_add(struct plan_growth *g, const struct plan *p, int index, int count,
                    struct fault *why)
{
    int rc = room_make(g, p, count, why);

    if (!rc)
        ranks_add(g, index, count);
    return rc;
}

/* Ranks on one host alone have no connections to others: they and the coordinator listen on the
 * loopback address, unless the hostfile says where. */
static int reach_check(const struct plan *p, const struct host *h, struct fault *why)
{
    const struct host *only = plan_host(p, 0);

    if (p->where->host_count > 1 || (strcmp(p->backend, "shm") != 0 && only->ips[0]))
        return 0;
    return fault_set(why, ML_ERR_STATE,
                     "host %s cannot join: the job has one host, %s, and its ranks listen for "
                     "those of no other; begin it on two hosts, or with --backend tcp and \"ips\" "
                     "in the hostfile",
                     h->name, only->name);
}

/* The index in the list of the host that the user's list has named before; -1: none has its name.
 * Those that were added, and are not used, could not be reached: they may have been misspelt. */
static int listed_find(const struct plan *p, const struct host *h)
{
    for (int i = 0; i < p->list->count; i++)
        if (!p->list->hosts[i].is_added && host_name_is_same(p->list->hosts[i].name, h->name))
            return i;
    return -1;
}

static int spare_check(const struct plan *p, int listed, struct fault *why)
{
    for (int i = p->where->host_count; i < p->where->host_count + p->where->spare_count; i++)
        if (p->where->hosts[i] == listed)
            return fault_set(why, ML_ERR_STATE,
                             "host %s is a spare one of the job: it comes when another is lost",
                             plan_host(p, i)->name);
    return 0;
}

int plan_growth_add_host(struct plan_growth *g, struct plan *p, struct host *h, int count,
                         struct fault *why)
{
    int listed = listed_find(p, h), rc = reach_check(p, h, why);

    if (!rc)
        rc = spare_check(p, listed, why);
    if (!rc)
        rc = room_make(g, p, count, why);
    if (!rc && listed < 0 && p->list->count == p->list->room)
        rc = fault_set(why, ML_ERR_STATE, "host %s cannot join: %d others have failed to", h->name,
                       JOB_GROW_MOST);
    if (!rc && listed < 0) {
        h->slots = 0;
        rc = host_list_add(p->list, h, why);
        listed = p->list->count - 1;
        p->list->hosts[listed].is_added = !rc;
    }
    if (!rc)
        rc = plan_hosts_set_env(p, &p->list->hosts[listed], why);
    if (!rc)
        rc = launch_method_resolve_one(p, &p->list->hosts[listed], why);
    if (rc)
        return rc;
    ranks_add(g, p->where->host_count + g->host_count, count);
    g->hosts[g->host_count++] = listed;
    return 0;
}

/* `hosts` has room for all, and behind the plan's own are the spare ones. */
int plan_growth_apply(struct plan *p, const struct plan_growth *g)
{
    int first = p->where->size, *at = p->where->hosts + p->where->host_count;

    memmove(at + g->host_count, at, (size_t)p->where->spare_count * sizeof(*at));
    if (g->host_count)
        memcpy(at, g->hosts, (size_t)g->host_count * sizeof(*at));
    p->where->host_count += g->host_count;
    for (int i = 0; i < g->rank_count; i++) {
        struct planned_rank one = {.host = g->ranks[i], .app = p->where->ranks[first - 1].app};

        for (int k = 0; k < p->where->size; k++)
            one.local_rank += p->where->ranks[k].host == one.host;
        p->where->ranks[p->where->size++] = one;
    }
    return first;
}

int plan_growth_preview(struct plan *out, struct roster *where, const struct plan *p,
                        const struct plan_growth *g, struct fault *why)
{
    int count = p->where->host_count + p->where->spare_count;

    *where = *p->where;
    where->hosts = calloc((size_t)count + (size_t)g->host_count, sizeof(*where->hosts));
    if (!where->hosts)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    memcpy(where->hosts, p->where->hosts, (size_t)count * sizeof(*where->hosts));
    *out = *p;
    out->where = where;
    /* The ranks of both lie in the same array, behind those that the plan counts. */
    plan_growth_apply(out, g);
    return 0;
}

void plan_growth_clear(struct plan_growth *g)
{
    free(g->hosts);
    free(g->ranks);
    *g = (struct plan_growth){0};
}

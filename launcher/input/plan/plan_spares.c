/* SPDX-License-Identifier: MIT */
#include "launcher/input/plan/plan_spares.h"

#include "common/log.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* The most ranks that a spare host takes. */
static int room_of(const struct plan *p, const struct host *h)
{
    int room = h->slots && !p->options->oversubscribe ? h->slots : INT_MAX;

    return h->max_slots && h->max_slots < room ? h->max_slots : room;
}

int plan_spares_room(const struct plan *p, int index)
{
    return room_of(p, plan_host(p, index));
}

static int ranks_of(const struct plan *p, int index)
{
    int count = 0;

    for (int r = 0; r < p->where->size; r++)
        count += p->where->ranks[r].host == index;
    return count;
}

/* Finds the hosts with the fewest and with the most ranks. */
static int extremes_find(const struct plan *p, int *fewest, int *most, int *most_host,
                         struct fault *why)
{
    int *counts = calloc((size_t)p->where->host_count, sizeof(*counts));

    if (!counts)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    for (int r = 0; r < p->where->size; r++)
        counts[p->where->ranks[r].host]++;
    *fewest = *most = counts[0];
    *most_host = 0;
    for (int i = 1; i < p->where->host_count; i++) {
        if (counts[i] < *fewest)
            *fewest = counts[i];
        if (counts[i] > *most) {
            *most = counts[i];
            *most_host = i;
        }
    }
    free(counts);
    return 0;
}

static int slots_check(const struct plan *p, struct fault *why)
{
    int fewest = 0, most = 0, most_host = 0;
    int rc = extremes_find(p, &fewest, &most, &most_host, why);

    for (int i = p->where->host_count; !rc && i < p->where->host_count + p->where->spare_count;
         i++) {
        const struct host *h = plan_host(p, i);
        int room = room_of(p, h);

        if (room < most && p->job.elastic && p->job.restarts)
            log_warn(
                "--spare-hosts: host %s has %d slot%s, so it takes only a part of the ranks of "
                "hosts with more, such as %s with %d",
                h->name, room, room == 1 ? "" : "s", plan_host(p, most_host)->name, most);
        else if (room < fewest)
            rc = fault_set(why, ML_ERR_ARGUMENT,
                           "--spare-hosts: host %s has %d slot%s, but each of the job's hosts has "
                           "%d ranks or more; --oversubscribe starts more ranks than slots",
                           h->name, room, room == 1 ? "" : "s", fewest);
        else if (room < most)
            log_warn("--spare-hosts: host %s has %d slot%s, so it cannot take the place of hosts "
                     "with more ranks, such as %s with %d",
                     h->name, room, room == 1 ? "" : "s", plan_host(p, most_host)->name, most);
    }
    return rc;
}

int plan_spares_settle(struct plan *p, const struct options *o, struct fault *why)
{
    if (o->evict_slow && !(o->spare_hosts && p->job.restarts))
        return fault_set(why, ML_ERR_ARGUMENT,
                         "--evict-slow lets a spare host take the place of a slow one in a "
                         "restart: add --restarts N and --spare-hosts");
    if (!o->spare_hosts)
        return 0;
    if (p->job.elastic && o->evict_slow)
        return fault_set(
            why, ML_ERR_ARGUMENT,
            "--evict-slow and --elastic exclude each other: ranks are started again one "
            "by one, and none is taken from a host that works");
    if (!p->job.restarts && o->check == FITNESS_NONE)
        return fault_set(why, ML_ERR_ARGUMENT,
                         "--spare-hosts is for jobs that start again after a host was lost, or "
                         "whose hosts are looked at: add --restarts N or --check quick");
    for (int i = 0; i < p->list->count; i++) {
        if (p->list->hosts[i].spare) {
            p->where->hosts[p->where->host_count + p->list->hosts[i].spare - 1] = i;
            p->where->spare_count++;
        }
    }
    return slots_check(p, why);
}

void plan_spares_renew(struct plan *p)
{
    p->where->spares_left = p->where->spare_count;
}

/* The index among the spare hosts of the first that has slots for `ranks`; or -1. */
static int spare_find(const struct plan *p, int ranks)
{
    const int *spares = p->where->hosts + p->where->host_count;

    for (int i = 0; i < p->where->spares_left; i++)
        if (room_of(p, &p->list->hosts[spares[i]]) >= ranks &&
            !(p->where->is_unfit && p->where->is_unfit[spares[i]]))
            return i;
    return -1;
}

int plan_spares_offer(const struct plan *p, int ranks)
{
    int spare = spare_find(p, ranks);

    if (spare < 0)
        spare = spare_find(p, 1);
    return spare < 0 ? 0
                     : room_of(p, &p->list->hosts[p->where->hosts[p->where->host_count + spare]]);
}

bool plan_spares_take(struct plan *p, int index, int ranks)
{
    int *spares = p->where->hosts + p->where->host_count, lost = p->where->hosts[index];
    int i = spare_find(p, ranks ? ranks : ranks_of(p, index));

    if (i < 0)
        return false;
    p->where->hosts[index] = spares[i];
    memmove(&spares[i], &spares[i + 1], (size_t)(p->where->spare_count - i - 1) * sizeof(*spares));
    spares[p->where->spare_count - 1] = lost;
    p->where->spares_left--;
    return true;
}

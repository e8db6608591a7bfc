/* SPDX-License-Identifier: MIT */
#include "launcher/input/plan/placement.h"

#include <limits.h>
#include <stdlib.h>

/* Returns the sum of the stated slots. *all_stated: every host states its number. */
static int64_t stated_slots(const struct host_list *l, bool *all_stated)
{
    int64_t sum = 0;

    *all_stated = true;
    for (int i = 0; i < l->count; i++) {
        sum += l->hosts[i].slots;
        if (!l->hosts[i].slots)
            *all_stated = false;
    }
    return sum;
}

static int64_t default_size(const struct host_list *l, const struct placement *p)
{
    int64_t size = 0;

    if (p->np)
        return p->np;
    if (p->ppn)
        return (int64_t)p->ppn * l->count;
    for (int i = 0; i < l->count; i++)
        size += l->hosts[i].slots ? l->hosts[i].slots : 1;
    return size;
}

/* Each host in turn gets --ppn ranks: checks that every one has the slots. */
static int ppn_check_blocks(int64_t left, const struct host_list *l, const struct placement *p,
                            struct fault *why)
{
    for (int i = 0; i < l->count && left > 0; i++) {
        const struct host *h = &l->hosts[i];
        int64_t here = left < p->ppn ? left : p->ppn;

        if (h->slots && here > h->slots)
            return fault_set(why, ML_ERR_ARGUMENT,
                             "--ppn %d asks for %lld ranks on host %s, which has %d slot%s; "
                             "--oversubscribe starts more ranks than slots",
                             p->ppn, (long long)here, h->name, h->slots, h->slots == 1 ? "" : "s");
        left -= here;
    }
    return 0;
}

/* When ranks are dealt out in rounds, a host with fewer slots leaves its share to the others. */
static int ppn_check_rounds(int64_t size, const struct host_list *l, const struct placement *p,
                            struct fault *why)
{
    int64_t room = 0;

    for (int i = 0; i < l->count; i++) {
        int slots = l->hosts[i].slots;

        room += slots && slots < p->ppn ? slots : p->ppn;
    }
    if (size <= room)
        return 0;
    return fault_set(why, ML_ERR_ARGUMENT,
                     "%lld ranks are asked for, but --ppn %d and the hosts' slots (%s) make %lld; "
                     "--oversubscribe starts more ranks than slots",
                     (long long)size, p->ppn, l->source, (long long)room);
}

static int room_check(int64_t size, const struct host_list *l, const struct placement *p,
                      struct fault *why)
{
    bool all_stated;
    int64_t slots = stated_slots(l, &all_stated);

    if (size > PLACEMENT_LIMIT)
        return fault_set(why, ML_ERR_ARGUMENT, "%lld ranks are more than mlaunch can start (%d)",
                         (long long)size, PLACEMENT_LIMIT);
    if (p->ppn && size > (int64_t)p->ppn * l->count)
        return fault_set(why, ML_ERR_ARGUMENT,
                         "%lld ranks are asked for, but --ppn %d on %d host%s makes %lld",
                         (long long)size, p->ppn, l->count, l->count == 1 ? "" : "s",
                         (long long)p->ppn * l->count);
    if (all_stated && size > slots && !p->oversubscribe)
        return fault_set(why, ML_ERR_ARGUMENT,
                         "%lld ranks are asked for, but the hosts (%s) have %lld slot%s; "
                         "--oversubscribe starts more ranks than slots",
                         (long long)size, l->source, (long long)slots, slots == 1 ? "" : "s");
    if (!p->ppn || p->oversubscribe)
        return 0;
    return p->by_host ? ppn_check_rounds(size, l, p, why) : ppn_check_blocks(size, l, p, why);
}

/* The most ranks that a host takes before the others must; `lift`: there is no limit. */
static int cap_of(const struct host *h, const struct placement *p, bool lift)
{
    int cap = p->ppn ? p->ppn : h->slots ? h->slots : p->np ? INT_MAX : 1;

    if (p->ppn && h->slots && h->slots < cap && !p->oversubscribe)
        cap = h->slots;
    return lift ? INT_MAX : cap;
}

/* Gives each host in turn as many ranks as its cap allows. Returns the number left over. */
static int hosts_fill(int *counts, const struct host_list *l, const struct placement *p, int left)
{
    for (int i = 0; i < l->count && left > 0; i++) {
        int cap = cap_of(&l->hosts[i], p, false), here = left < cap ? left : cap;

        counts[i] += here;
        left -= here;
    }
    return left;
}

/* For hosts of which some state no slots: gives all of them even shares in blocks, except that a
 * host with fewer slots than its share gets only those. */
static void hosts_share(int *counts, const struct host_list *l, const struct placement *p, int left)
{
    int open = l->count, share;
    bool changed;

    do {
        changed = false;
        share = left / open;
        for (int i = 0; i < l->count; i++) {
            int cap = cap_of(&l->hosts[i], p, false);

            if (counts[i] || cap > share)
                continue;
            counts[i] = cap;
            left -= cap;
            open--;
            changed = true;
        }
    } while (changed && open > 0);
    for (int i = 0, extra = open ? left - share * open : 0; i < l->count; i++) {
        if (counts[i])
            continue;
        counts[i] = share + (extra > 0);
        extra -= extra > 0;
    }
}

/* Fills each host in turn; with --oversubscribe, as many times as needed. */
static int blocks_place(int *host_of, int size, const struct host_list *l,
                        const struct placement *p, struct fault *why)
{
    int *counts = calloc((size_t)l->count, sizeof(*counts)), rank = 0, left = size;
    bool all_stated;

    if (!counts)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    stated_slots(l, &all_stated);
    if (p->ppn || all_stated || !p->np)
        while ((left = hosts_fill(counts, l, p, left)) > 0)
            ;
    else
        hosts_share(counts, l, p, size);
    for (int i = 0; i < l->count; i++)
        for (int n = 0; n < counts[i]; n++)
            host_of[rank++] = i;
    free(counts);
    return 0;
}

/* Gives each host one rank, round after round; a full host drops out. */
static int rounds_place(int *host_of, int size, const struct host_list *l,
                        const struct placement *p, struct fault *why)
{
    int *open = calloc((size_t)l->count, sizeof(*open)), count = l->count, rank = 0;
    bool lift = false;

    if (!open)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    for (int i = 0; i < l->count; i++)
        open[i] = i;
    for (int round = 1; rank < size; round++) {
        int still = 0;

        for (int k = 0; k < count && rank < size; k++) {
            host_of[rank++] = open[k];
            if (round < cap_of(&l->hosts[open[k]], p, lift))
                open[still++] = open[k];
        }
        count = still;
        if (count == 0 && rank < size) { /* --oversubscribe: all hosts again */
            lift = true;
            for (count = 0; count < l->count; count++)
                open[count] = count;
        }
    }
    free(open);
    return 0;
}

/* max_slots of a hostfile also holds with --oversubscribe. */
static int most_check(const int *host_of, int size, const struct host_list *l, struct fault *why)
{
    int *counts = calloc((size_t)l->count, sizeof(*counts)), rc = 0;

    if (!counts)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    for (int r = 0; r < size; r++)
        counts[host_of[r]]++;
    for (int i = 0; i < l->count && !rc; i++)
        if (l->hosts[i].max_slots && counts[i] > l->hosts[i].max_slots)
            rc = fault_set(why, ML_ERR_ARGUMENT,
                           "host %s would get %d ranks, but its max_slots is %d", l->hosts[i].name,
                           counts[i], l->hosts[i].max_slots);
    free(counts);
    return rc;
}

int placement_make(int **host_of, int *size, const struct host_list *l, const struct placement *p,
                   struct fault *why)
{
    int64_t wanted = default_size(l, p);
    int rc = room_check(wanted, l, p, why), *out;

    if (rc)
        return rc;
    out = calloc((size_t)wanted, sizeof(*out));
    if (!out)
        return fault_set(why, ML_ERR_MEMORY, "out of memory for %lld ranks", (long long)wanted);
    rc = p->by_host ? rounds_place(out, (int)wanted, l, p, why)
                    : blocks_place(out, (int)wanted, l, p, why);
    if (!rc)
        rc = most_check(out, (int)wanted, l, why);
    if (rc) {
        free(out);
        return rc;
    }
    *host_of = out;
    *size = (int)wanted;
    return 0;
}

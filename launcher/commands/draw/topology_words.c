/* SPDX-License-Identifier: MIT */
#include "launcher/commands/draw/topology_words.h"

#include "common/text/printable.h"

#include <stdlib.h>
#include <string.h>

enum { STEPS_MOST = 1000000 /* in the search for a ring */ };

/* --- ring ------------------------------------------------------------------------------------- */

struct ring_search {
    int count;
    bool *joins; /* [count][count] */
    bool *used;
    int *order;
    long steps;
};

static bool joins(const struct ring_search *s, int i, int j)
{
    return s->joins[(size_t)i * (size_t)s->count + (size_t)j];
}

/* Depth first, without recursion: order[at] is tried from the host after the one that it had. */
static bool ring_find(struct ring_search *s)
{
    int at = 1;

    s->order[0] = 0;
    s->used[0] = true;
    s->order[1] = 0;
    while (at > 0 && s->steps++ < STEPS_MOST) {
        int next = s->order[at];

        if (next > 0)
            s->used[next] = false;
        do
            next++;
        while (next < s->count && (s->used[next] || !joins(s, s->order[at - 1], next)));
        if (next == s->count) {
            s->order[at--] = 0;
            continue;
        }
        s->order[at] = next;
        s->used[next] = true;
        if (at < s->count - 1)
            s->order[++at] = 0;
        else if (joins(s, next, 0))
            return true;
    }
    return false;
}

bool topology_words_ring(const struct topology_picture *p, int *order)
{
    size_t count = (size_t)p->count;
    struct ring_search s = {.count = p->count, .order = order};
    bool is_ring = false;

    if (count < 3)
        return false;
    s.joins = calloc(count * count, sizeof(*s.joins));
    s.used = calloc(count, sizeof(*s.used));
    for (size_t k = 0; k < p->cable_count && s.joins; k++) {
        const struct topology_cable *l = &p->cables[k];

        if (l->state != TOPOLOGY_CABLE_GOOD && l->state != TOPOLOGY_CABLE_SLOW)
            continue;
        s.joins[(size_t)l->from * count + (size_t)l->to] = true;
        s.joins[(size_t)l->to * count + (size_t)l->from] = true;
    }
    if (s.joins && s.used)
        is_ring = ring_find(&s);
    free(s.joins);
    free(s.used);
    return is_ring;
}

static void ring_print(const struct topology_picture *p)
{
    int *order = calloc((size_t)p->count + 1, sizeof(*order));

    if (order && topology_words_ring(p, order)) {
        printable_print("ring:");
        for (int i = 0; i < p->count; i++)
            printable_print(" %s", p->names[order[i]]);
        printable_print(" and back to %s\n", p->names[order[0]]);
    } else {
        printable_print("no ring joins all hosts\n");
    }
    free(order);
}

/* --- links ------------------------------------------------------------------------------------ */

static int lacks_print(const struct topology_picture *p)
{
    int lacking = 0;

    for (int i = 0; i < p->count; i++)
        for (int j = i + 1; j < p->count; j++) {
            if (topology_picture_joins(p, i, j))
                continue;
            printable_print(lacking++ ? ", %s - %s" : "missing for a full mesh: %s - %s",
                            p->names[i], p->names[j]);
        }
    printable_print(lacking ? "\n" : "full mesh: a link joins each pair of hosts\n");
    return lacking;
}

static void cable_print(const struct topology_picture *p, const struct topology_cable *l)
{
    static const char *const words[] = {[TOPOLOGY_CABLE_SLOW] = "slow",
                                        [TOPOLOGY_CABLE_ONE_WAY] = "one way",
                                        [TOPOLOGY_CABLE_SILENT] = "nothing comes through"};

    if (l->state == TOPOLOGY_CABLE_GOOD)
        return;
    printable_print("%s: %s %s %s %s%s%s", words[l->state], p->names[l->from], l->from_port,
                    l->state == TOPOLOGY_CABLE_ONE_WAY ? "to" : "-", p->names[l->to],
                    l->to_port[0] ? " " : "", l->to_port);
    if (l->state == TOPOLOGY_CABLE_SLOW)
        printable_print(", %g Gb/s", l->gigabits);
    printable_print("\n");
}

void topology_words_print(const struct topology_picture *p)
{
    if (lacks_print(p))
        ring_print(p);
    for (size_t k = 0; k < p->cable_count; k++)
        cable_print(p, &p->cables[k]);
}

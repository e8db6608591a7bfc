/* SPDX-License-Identifier: MIT */
#include "common/net/wait_graph.h"

#include "common/mlaunch.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static int rank_compare(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;

    return (x > y) - (x < y);
}

/* Sorts `ranks`, and keeps one of each that is not in `without`, which is sorted. Returns how many
 * are left. */
static size_t ranks_settle(int *ranks, size_t count, const int *without, size_t without_count)
{
    size_t kept = 0;

    if (count)
        qsort(ranks, count, sizeof(*ranks), rank_compare);
    for (size_t i = 0; i < count; i++) {
        if ((kept == 0 || ranks[i] != ranks[kept - 1]) &&
            (!without_count ||
             !bsearch(&ranks[i], without, without_count, sizeof(*without), rank_compare)))
            ranks[kept++] = ranks[i];
    }
    return kept;
}

static bool is_together(const struct wait *a, const struct wait *b)
{
    return a == b || (a->call && a->call == b->call && a->group == b->group);
}

int wait_graph_call(struct wait_call *out, const struct wait *waits, size_t count, size_t which,
                    const int *members, size_t member_count)
{
    size_t room = count + member_count, named = 0;
    int *absent;

    *out = (struct wait_call){0};
    for (size_t i = 0; i < count; i++)
        room += waits[i].count;
    out->present = calloc(room, sizeof(int));
    if (!out->present)
        return ML_ERR_MEMORY;
    out->absent = absent = out->present + count;
    for (size_t i = 0; i < count; i++) {
        if (!is_together(&waits[i], &waits[which]))
            continue;
        out->present[out->present_count++] = waits[i].rank;
        for (size_t k = 0; k < waits[i].count; k++)
            absent[named++] = waits[i].peers[k];
    }
    if (named == 0 && member_count)
        memcpy(absent, members, (named = member_count) * sizeof(int));
    out->present_count = ranks_settle(out->present, out->present_count, NULL, 0);
    out->absent_count =
        ranks_settle(absent, named, out->present, waits[which].call ? out->present_count : 0);
    return 0;
}

/* --- circles ---------------------------------------------------------------------------------- */

/* A search in depth: the path is the chain of waits from the first one to the one at its end, each
 * with the next of its peers to look at. */
enum { STATE_NEW, STATE_ON_PATH, STATE_DONE };
struct wait_search {
    const struct wait *waits;
    size_t count, length;
    size_t *path, *next, *states; /* path owns all */
};

static bool names(const struct wait *w, size_t first, size_t past, int rank)
{
    while (first < past && w->peers[first] != rank)
        first++;
    return first < past;
}

/* True if the two are in one collective call, or one sends what the other receives: then they wait
 * for the network, or for a third rank. */
static bool is_met(const struct wait *a, const struct wait *b)
{
    return a->group == b->group && a->call == b->call &&
           (a->call ||
            (names(a, 0, a->senders, b->rank) && names(b, b->senders, b->count, a->rank)) ||
            (names(a, a->senders, a->count, b->rank) && names(b, 0, b->senders, a->rank)));
}

/* The only wait of a rank; NULL: it has none, or several. */
static const struct wait *wait_find(const struct wait_search *s, int rank)
{
    const struct wait wanted = {.rank = rank}, *end = s->waits + s->count;
    const struct wait *w = bsearch(&wanted, s->waits, s->count, sizeof(wanted), rank_compare);
    bool is_only =
        w && (w == s->waits || w[-1].rank != rank) && (w + 1 == end || w[1].rank != rank);

    return is_only ? w : NULL;
}

/* The wait of the rank that the last one of the path waits for, the next of its peers; NULL: no
 * more. */
static const struct wait *peer_next(struct wait_search *s)
{
    const struct wait *mine = &s->waits[s->path[s->length - 1]];
    size_t *at = &s->next[s->length - 1];

    while (*at < mine->count) {
        const struct wait *found = wait_find(s, mine->peers[(*at)++]);

        if (found && !is_met(mine, found))
            return found;
    }
    return NULL;
}

static void path_add(struct wait_search *s, size_t index)
{
    s->states[index] = STATE_ON_PATH;
    s->path[s->length] = index;
    s->next[s->length++] = 0;
}

/* Follows the waits from one rank. Returns the place on the path at which a circle begins, or
 * SIZE_MAX. */
static size_t search_from(struct wait_search *s, size_t first)
{
    path_add(s, first);
    while (s->length > 0) {
        const struct wait *peer = peer_next(s);
        size_t index = peer ? (size_t)(peer - s->waits) : 0, begin = 0;

        if (!peer) {
            s->states[s->path[--s->length]] = STATE_DONE;
        } else if (s->states[index] == STATE_NEW) {
            path_add(s, index);
        } else if (s->states[index] == STATE_ON_PATH) {
            while (s->path[begin] != index)
                begin++;
            return begin;
        }
    }
    return SIZE_MAX;
}

size_t wait_graph_circle(const struct wait *waits, size_t count, int *circle)
{
    size_t *path = calloc(3 * (count + 1), sizeof(*path)), begin = SIZE_MAX, found = 0;
    struct wait_search s = {.waits = waits, .count = count, .path = path};

    if (!path)
        return 0;
    s.next = path + count + 1;
    s.states = s.next + count + 1;
    for (size_t i = 0; i < count && begin == SIZE_MAX; i++) {
        if (s.states[i] == STATE_NEW && wait_find(&s, waits[i].rank))
            begin = search_from(&s, i);
    }
    for (; begin < s.length; begin++)
        circle[found++] = waits[path[begin]].rank;
    free(path);
    return found;
}

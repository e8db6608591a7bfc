/* SPDX-License-Identifier: MIT */
#include "launcher/run/stacks/deadlock.h"

#include "common/text/object_field.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

/* A search in depth: the path is the chain of ranks from the first one to the one at its end, each
 * with the next of its peers to look at. */
struct deadlock_search {
    const struct deadlock_rank *ranks;
    size_t count, length;
    size_t *path, *next;
    enum state { STATE_NEW, STATE_ON_PATH, STATE_DONE } * states;
};

static const json_t *only_wait(const struct deadlock_rank *r)
{
    return json_array_size(r->waits) == 1 ? json_array_get(r->waits, 0) : NULL;
}

static bool list_has(const json_t *wait, const char *list, long long rank)
{
    const json_t *peers = json_object_get(wait, list);

    for (size_t i = 0; i < json_array_size(peers); i++) {
        const json_t *peer = json_array_get(peers, i);

        if (json_is_integer(peer) && json_integer_value(peer) == rank)
            return true;
    }
    return false;
}

/* True if the two are in one collective call, or one sends what the other receives: then they wait
 * for the network, or for a third rank. */
static bool is_met(const struct deadlock_rank *a, const struct deadlock_rank *b)
{
    const json_t *x = only_wait(a), *y = only_wait(b);

    if (object_field_whole(x, "group") != object_field_whole(y, "group") ||
        object_field_whole(x, "call") != object_field_whole(y, "call"))
        return false;
    return object_field_whole(x, "call") != 0 ||
           (list_has(x, "receives_from", b->rank) && list_has(y, "sends_to", a->rank)) ||
           (list_has(x, "sends_to", b->rank) && list_has(y, "receives_from", a->rank));
}

static int rank_compare(const void *a, const void *b)
{
    const struct deadlock_rank *x = a, *y = b;

    return (x->rank > y->rank) - (x->rank < y->rank);
}

/* The rank that the last one of the path waits for, the next in its lists; NULL: no more. */
static const struct deadlock_rank *peer_next(struct deadlock_search *s)
{
    const struct deadlock_rank *mine = &s->ranks[s->path[s->length - 1]];
    const json_t *wait = only_wait(mine);
    const json_t *from = json_object_get(wait, "receives_from");
    const json_t *to = json_object_get(wait, "sends_to");
    size_t *at = &s->next[s->length - 1];

    while (*at < json_array_size(from) + json_array_size(to)) {
        size_t i = (*at)++, first = json_array_size(from);
        const json_t *peer = i < first ? json_array_get(from, i) : json_array_get(to, i - first);
        struct deadlock_rank wanted = {.rank = json_integer_value(peer)};
        const struct deadlock_rank *found =
            json_is_integer(peer)
                ? bsearch(&wanted, s->ranks, s->count, sizeof(wanted), rank_compare)
                : NULL;

        if (found && only_wait(found) && !is_met(mine, found))
            return found;
    }
    return NULL;
}

static void path_add(struct deadlock_search *s, size_t index)
{
    s->states[index] = STATE_ON_PATH;
    s->path[s->length] = index;
    s->next[s->length++] = 0;
}

/* Follows the waits from one rank. Returns the place on the path at which a circle begins, or
 * SIZE_MAX. */
static size_t search_from(struct deadlock_search *s, size_t first)
{
    path_add(s, first);
    while (s->length > 0) {
        const struct deadlock_rank *peer = peer_next(s);
        size_t index = peer ? (size_t)(peer - s->ranks) : 0, begin = 0;

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

size_t deadlock_find(const struct deadlock_rank *ranks, size_t count, size_t *circle)
{
    struct deadlock_search s = {.ranks = ranks,
                                .count = count,
                                .path = calloc(count + 1, sizeof(*s.path)),
                                .next = calloc(count + 1, sizeof(*s.next)),
                                .states = calloc(count + 1, sizeof(*s.states))};
    size_t begin = SIZE_MAX, found = 0;

    for (size_t i = 0; i < count && begin == SIZE_MAX && s.path && s.next && s.states; i++) {
        if (s.states[i] == STATE_NEW && only_wait(&ranks[i]))
            begin = search_from(&s, i);
    }
    for (; begin < s.length; begin++)
        circle[found++] = s.path[begin];
    free(s.path);
    free(s.next);
    free(s.states);
    return found;
}

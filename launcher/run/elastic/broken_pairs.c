/* SPDX-License-Identifier: MIT */
#include "launcher/run/elastic/broken_pairs.h"

#include <stdlib.h>
#include <string.h>

static bool pair_has(const struct broken_pair *p, int host)
{
    return p->hosts[0] == host || p->hosts[1] == host;
}

void broken_pairs_add(struct broken_pairs *b, const struct broken_pair *pair)
{
    struct broken_pair *more;
    char *text;

    for (int i = 0; i < b->count; i++)
        if (pair_has(&b->pairs[i], pair->hosts[0]) && pair_has(&b->pairs[i], pair->hosts[1]))
            return;
    more = realloc(b->pairs, ((size_t)b->count + 1) * sizeof(*more));
    if (!more)
        return;
    b->pairs = more;
    text = strdup(pair->text);
    if (!text)
        return;
    b->pairs[b->count] = *pair;
    b->pairs[b->count++].text = text;
}

void broken_pairs_remove(struct broken_pairs *b, int index)
{
    free(b->pairs[index].text);
    b->pairs[index] = b->pairs[--b->count];
}

void broken_pairs_clear(struct broken_pairs *b)
{
    while (b->count > 0)
        broken_pairs_remove(b, b->count - 1);
    free(b->pairs);
    b->pairs = NULL;
}

bool broken_pairs_is_past(const struct broken_pair *p, int64_t generation, int64_t membership)
{
    return p->generation < generation ||
           (p->generation == generation && p->membership < membership);
}

void broken_pairs_expire(struct broken_pairs *b, int64_t generation, int64_t membership)
{
    for (int i = b->count - 1; i >= 0; i--)
        if (broken_pairs_is_past(&b->pairs[i], generation, membership))
            broken_pairs_remove(b, i);
}

int broken_pairs_choose(const struct broken_pairs *b, const int *ranks, int hosts)
{
    int chosen = -1, most = 0;

    for (int host = 0; host < hosts; host++) {
        int pairs = 0;

        for (int i = 0; i < b->count; i++)
            pairs += pair_has(&b->pairs[i], host);
        if (pairs > most ||
            (pairs == most && chosen >= 0 && pairs > 0 && ranks[host] <= ranks[chosen])) {
            chosen = host;
            most = pairs;
        }
    }
    return chosen;
}

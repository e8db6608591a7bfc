/* SPDX-License-Identifier: MIT */
#include "launcher/run/elastic/keeper_order.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A keeper, where it was once: its host may have another one since, or none. */
struct keeper_place {
    int host;
    char address[KEEPER_ADDRESS];
};

struct host_order {
    char address[KEEPER_ADDRESS];             /* its keeper's; "": it has none */
    struct keeper_place places[KEEPERS_MOST]; /* its ranks' copies, the newest ones first */
    int count;
    char found[KEEPERS_TEXT];
};

struct keeper_order {
    int count;
    struct host_order hosts[];
};

int keeper_order_set(struct keeper_order **order, int host, const char *address, struct fault *why)
{
    int count = *order ? (*order)->count : 0;

    if (host >= count) {
        struct keeper_order *more =
            realloc(*order, sizeof(*more) + ((size_t)host + 1) * sizeof(more->hosts[0]));

        if (!more)
            return fault_set(why, ML_ERR_MEMORY, "out of memory");
        memset(more->hosts + count, 0, (size_t)(host + 1 - count) * sizeof(more->hosts[0]));
        more->count = host + 1;
        *order = more;
    }
    snprintf((*order)->hosts[host].address, KEEPER_ADDRESS, "%s", address);
    return 0;
}

void keeper_order_destroy(struct keeper_order *order)
{
    free(order);
}

static bool lives(const struct keeper_order *order, const struct keeper_place *p)
{
    return strcmp(order->hosts[p->host].address, p->address) == 0;
}

/* The first one behind `host` that has a keeper; or `host`. */
static int next_host(const struct keeper_order *order, int host)
{
    int next = host;

    do {
        next = (next + 1) % order->count;
    } while (next != host && !order->hosts[next].address[0]);
    return next;
}

/* Puts the next host first, and leaves out those that are gone. */
static void places_renew(const struct keeper_order *order, int host, struct host_order *h)
{
    struct keeper_place before[KEEPERS_MOST];
    int next = next_host(order, host), count = h->count;

    memcpy(before, h->places, sizeof(before));
    h->count = 0;
    if (next != host) {
        h->places[0].host = next;
        memcpy(h->places[0].address, order->hosts[next].address, KEEPER_ADDRESS);
        h->count = 1;
    }
    for (int i = 0; i < count && h->count < KEEPERS_MOST; i++)
        if (before[i].host != next && lives(order, &before[i]))
            h->places[h->count++] = before[i];
}

bool keeper_order_find(struct keeper_order *order, int host, char text[KEEPERS_TEXT])
{
    struct host_order *h;
    size_t n = 0;
    bool differs;

    text[0] = '\0';
    if (!order || host >= order->count)
        return false;
    h = &order->hosts[host];
    places_renew(order, host, h);
    for (int i = 0; i < h->count; i++)
        n += (size_t)snprintf(text + n, KEEPERS_TEXT - n, "%s%s", i ? " " : "",
                              h->places[i].address);
    differs = strcmp(text, h->found) != 0;
    memcpy(h->found, text, n + 1);
    return differs;
}

/* SPDX-License-Identifier: MIT */
#include "rdma/probe/trial_candidates.h"

#include "common/text/port_name.h"
#include "rdma/probe/describe.h"

#include <string.h>

enum { MTU_LEAST = 256 };

/* The asked host and another one. */
struct host_pair {
    const struct trial_question *question;
    const struct trial_host *mine, *theirs;
};

/* How a host's wiring names a port towards another host. */
enum port_naming { NAMED_NOT, NAMED_OPEN /* only its device */, NAMED_PORT };

/* The upper half of an InfiniBand GID is its fabric's. */
static bool is_same_fabric(const struct trial_port *a, const struct trial_port *b)
{
    return a->gid_count > 0 && b->gid_count > 0 && memcmp(a->gids[0].raw, b->gids[0].raw, 8) == 0;
}

/* As gid_choose(). *x and *y become the GIDs to use; both hosts find the same. */
static int ports_score(const struct trial_question *q, const struct trial_port *a,
                       const struct trial_port *b, struct gid *x, struct gid *y)
{
    bool is_low = a->host < b->host;
    struct gid_list mine = {a->gids, a->gid_count, q->gid_index};
    struct gid_list theirs = {b->gids, b->gid_count, q->gid_index};
    int at = 0, peer_at = 0, score;

    if (a->is_ethernet != b->is_ethernet)
        return 0;
    if (!a->is_ethernet)
        return is_same_fabric(a, b) ? GID_SHARED : 0;
    score =
        is_low ? gid_choose(mine, theirs, &at, &peer_at) : gid_choose(theirs, mine, &peer_at, &at);
    if (score == 0)
        return 0;
    *x = a->gids[at];
    *y = b->gids[peer_at];
    return score;
}

/* Whether both are in one subnet or fabric. */
static bool ports_share(const struct trial_question *q, const struct trial_port *a,
                        const struct trial_port *b)
{
    struct gid x, y;

    return ports_score(q, a, b, &x, &y) >= GID_SHARED;
}

/* --port applies only to ports that the wiring leaves open. */
static enum port_naming port_naming(const struct trial_question *q, const struct trial_port *p,
                                    int to)
{
    json_t *row = json_array_get(q->wiring, (size_t)p->host), *name;
    size_t i;

    json_array_foreach(json_array_get(row, (size_t)to), i, name)
    {
        char device[PORT_NAME_DEVICE];
        int port;

        if (!json_is_string(name) || !port_name_split(json_string_value(name), device, &port) ||
            strcmp(device, p->device) != 0)
            continue;
        if (port == p->number)
            return NAMED_PORT;
        if (!port && (!q->port || p->number == q->port))
            return NAMED_OPEN;
    }
    return NAMED_NOT;
}

/* Whether the trial waits for this pair: one that the wiring names, or any if none is stated. */
static bool is_wanted(const struct trial_question *q, const struct trial_port *a,
                      const struct trial_port *b)
{
    if (q->wiring)
        return port_naming(q, a, b->host) && port_naming(q, b, a->host);
    return !q->port || (a->number == q->port && b->number == q->port);
}

/* Whether `p` shares a subnet with one of the ports to which, by the wiring, it leads. If the
 * wiring names only its device, any port of the device will do. */
static bool has_neighbour(const struct trial_question *q, const struct trial_port *p,
                          const struct trial_host *own, const struct trial_host *others)
{
    for (int i = 0; i < own->count; i++) {
        const struct trial_port *at = &own->ports[i];

        if (strcmp(at->device, p->device) != 0)
            continue;
        if (at->number != p->number && port_naming(q, p, others->ports[0].host) != NAMED_OPEN)
            continue;
        for (int k = 0; k < others->count; k++)
            if (is_wanted(q, at, &others->ports[k]) && ports_share(q, at, &others->ports[k]))
                return true;
    }
    return false;
}

/* The wiring names this pair, and no subnet suggests that another one is meant. */
static bool is_stated(const struct host_pair *h, const struct trial_port *a,
                      const struct trial_port *b)
{
    const struct trial_question *q = h->question;

    return q->wiring && is_wanted(q, a, b) && !has_neighbour(q, a, h->mine, h->theirs) &&
           !has_neighbour(q, b, h->theirs, h->mine);
}

static void target_add(struct trial_candidates *c, const struct trial_question *q,
                       const struct trial_port *a, const struct trial_port *b,
                       const struct gid *gids, bool is_shared, int group)
{
    struct wire_trial_target t = {.port = a->number,
                                  .from = a->id,
                                  .to = b->id,
                                  .is_ethernet = a->is_ethernet,
                                  .gid = gids[0],
                                  .peer_gid = gids[1],
                                  .lid = b->lid,
                                  .number = b->queue_pair,
                                  .mtu = a->mtu < b->mtu ? a->mtu : b->mtu,
                                  .group = group,
                                  .host = b->host,
                                  .row = c->count};
    json_t *try;

    if (q->mtu >= MTU_LEAST && t.mtu > q->mtu)
        t.mtu = q->mtu;
    if (c->count == TRIAL_CANDIDATES || t.mtu < MTU_LEAST)
        return;
    try = json_pack("{s:i, s:i, s:s, s:i, s:i, s:b, s:b}", "port", a->number, "host", b->host,
                    "device", b->device, "peer_port", b->number, "mtu", t.mtu, "shared",
                    (int)is_shared, "wanted", (int)(group >= 0));
    if (a->is_ethernet) {
        json_t *pair = describe_gids(gids, 2);

        json_object_set(try, "gid", json_array_get(pair, 0));
        json_object_set(try, "peer_gid", json_array_get(pair, 1));
        json_decref(pair);
    }
    json_array_append_new(c->tries, try);
    c->targets[c->count++] = t;
}

/* Whether any two ports of these hosts share a subnet or fabric: then only pairs that do are tried,
 * and those that are stated. */
static bool hosts_share(const struct host_pair *h)
{
    for (int i = 0; i < h->mine->count; i++)
        for (int k = 0; k < h->theirs->count; k++)
            if (ports_share(h->question, &h->mine->ports[i], &h->theirs->ports[k]))
                return true;
    return false;
}

static void host_find(struct trial_candidates *c, const struct host_pair *h, const char *device)
{
    const struct trial_question *q = h->question;
    bool shared = hosts_share(h);
    int open_group = c->groups++; /* one of the device's ports is enough */

    for (int i = 0; i < h->mine->count; i++) {
        const struct trial_port *a = &h->mine->ports[i];
        int group = c->groups;

        if (strcmp(a->device, device) != 0)
            continue;
        c->groups++;
        if (h->theirs->count && port_naming(q, a, h->theirs->ports[0].host) == NAMED_OPEN)
            group = open_group;
        for (int k = 0; k < h->theirs->count; k++) {
            const struct trial_port *b = &h->theirs->ports[k];
            struct gid gids[2];
            int score;

            memset(gids, 0, sizeof(gids));
            score = ports_score(q, a, b, &gids[0], &gids[1]);
            if (score >= GID_SHARED || (score > 0 && (!shared || is_stated(h, a, b))))
                target_add(c, q, a, b, gids, score >= GID_SHARED, is_wanted(q, a, b) ? group : -1);
        }
    }
}

void trial_candidates_find(struct trial_candidates *out, const struct trial_question *q,
                           const char *device)
{
    *out = (struct trial_candidates){.tries = json_array()};
    for (int i = 0; i < q->host_count && q->host >= 0; i++) {
        const struct host_pair h = {q, &q->hosts[q->host], &q->hosts[i]};

        if (i != q->host)
            host_find(out, &h, device);
    }
}

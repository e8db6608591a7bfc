/* SPDX-License-Identifier: MIT */
#include "rdma/probe/trial_candidates.h"

#include "common/port_name.h"
#include "rdma/probe/describe.h"

#include <stdlib.h>
#include <string.h>

enum { PORT_BITS = 16, MTU_LEAST = 256 };

/* A port of any host. */
struct seen {
    int host;
    uint32_t id;
    const char *device;
    const json_t *port;
    int number, mtu;
    bool is_ethernet;
    struct gid gids[GID_MOST];
    int gid_count;
};

/* Those of this host and of one other. */
struct meeting {
    const json_t *question;
    struct seen *mine, *theirs;
    int mine_count, theirs_count;
};

/* How a host's wiring names a port towards another host. */
enum naming { NAMED_NOT, NAMED_OPEN /* only its device */, NAMED_PORT };

static int whole(const json_t *object, const char *key, int otherwise)
{
    const json_t *value = json_object_get(object, key);

    return json_is_integer(value) ? (int)json_integer_value(value) : otherwise;
}

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text ? text : "";
}

static bool has_wiring(const json_t *question)
{
    return json_is_array(json_object_get(question, "wiring"));
}

static bool port_see(struct seen *s, int host, uint32_t id, const json_t *device,
                     const json_t *port)
{
    if (!json_is_integer(json_object_get(port, "queue_pair")))
        return false;
    *s = (struct seen){.host = host,
                       .id = id,
                       .device = text_of(device, "name"),
                       .port = port,
                       .number = whole(port, "port", 0),
                       .mtu = whole(port, "active_mtu", 0),
                       .is_ethernet = strcmp(text_of(port, "link_layer"), "Ethernet") == 0};
    s->gid_count = describe_gids_read(json_object_get(port, "gids"), s->gids, GID_MOST);
    return true;
}

/* All ports of a host that can be tried. */
static struct seen *ports_see(const json_t *question, int host, int *count)
{
    json_t *devices = json_array_get(json_object_get(question, "hosts"), (size_t)host);
    json_t *device, *port;
    struct seen *list = NULL;
    uint32_t id = (uint32_t)host << PORT_BITS;
    size_t i, j;

    *count = 0;
    json_array_foreach(devices, i, device)
    {
        json_array_foreach(json_object_get(device, "ports"), j, port)
        {
            struct seen s, *more;

            if (!port_see(&s, host, id++, device, port))
                continue;
            more = realloc(list, ((size_t)*count + 1) * sizeof(*list));
            if (!more)
                return list;
            list = more;
            list[(*count)++] = s;
        }
    }
    return list;
}

static bool is_same_fabric(const struct seen *a, const struct seen *b)
{
    /* The upper half of an InfiniBand GID is its fabric's. */
    return a->gid_count > 0 && b->gid_count > 0 && memcmp(a->gids[0].raw, b->gids[0].raw, 8) == 0;
}

/* As gid_score; *x, *y: the GIDs to use. The same on both hosts. */
static int ports_score(const json_t *question, const struct seen *a, const struct seen *b,
                       struct gid *x, struct gid *y)
{
    int only = whole(question, "gid_index", -1), at = 0, peer_at = 0, score;
    bool is_low = a->host < b->host;
    struct gid_list mine = {a->gids, a->gid_count, only};
    struct gid_list theirs = {b->gids, b->gid_count, only};

    if (a->is_ethernet != b->is_ethernet)
        return 0;
    if (!a->is_ethernet)
        return is_same_fabric(a, b) ? GID_SHARED : 0;
    score = is_low ? gid_score(mine, theirs) : gid_score(theirs, mine);
    if (score == 0)
        return 0;
    if (is_low)
        gid_choose(mine, theirs, &at, &peer_at);
    else
        gid_choose(theirs, mine, &peer_at, &at);
    *x = a->gids[at];
    *y = b->gids[peer_at];
    return score;
}

static bool is_shared(const json_t *question, const struct seen *a, const struct seen *b)
{
    struct gid x, y;

    return ports_score(question, a, b, &x, &y) >= GID_SHARED;
}

/* --port is for those that the wiring leaves open. */
static enum naming port_naming(const json_t *question, const struct seen *s, int to)
{
    json_t *row = json_array_get(json_object_get(question, "wiring"), (size_t)s->host);
    int only = whole(question, "port", 0);
    json_t *name;
    size_t i;

    json_array_foreach(json_array_get(row, (size_t)to), i, name)
    {
        char device[PORT_NAME_DEVICE];
        int port;

        if (!json_is_string(name) || !port_name_split(json_string_value(name), device, &port) ||
            strcmp(device, s->device) != 0)
            continue;
        if (port == s->number)
            return NAMED_PORT;
        if (!port && (!only || s->number == only))
            return NAMED_OPEN;
    }
    return NAMED_NOT;
}

/* Whether these two are waited for: as the hostfile says, or, where it says nothing, all. */
static bool is_wanted(const json_t *question, const struct seen *a, const struct seen *b)
{
    int only = whole(question, "port", 0);

    if (has_wiring(question))
        return port_naming(question, a, b->host) && port_naming(question, b, a->host);
    return !only || (a->number == only && b->number == only);
}

/* Whether `s`, or another port of its device where the wiring names only that, is in one subnet with one of those to
 * which the wiring says that it leads. */
static bool has_neighbour(const json_t *question, const struct seen *s, const struct seen *own,
                          int own_count, const struct seen *others, int other_count)
{
    for (int i = 0; i < own_count; i++) {
        bool is_same =
            own[i].number == s->number || port_naming(question, s, others->host) == NAMED_OPEN;

        if (strcmp(own[i].device, s->device) != 0 || !is_same)
            continue;
        for (int k = 0; k < other_count; k++)
            if (is_wanted(question, &own[i], &others[k]) &&
                is_shared(question, &own[i], &others[k]))
                return true;
    }
    return false;
}

/* The wiring says so, and no subnet says that another one is meant. */
static bool is_stated(const struct meeting *m, const struct seen *a, const struct seen *b)
{
    return has_wiring(m->question) && is_wanted(m->question, a, b) &&
           !has_neighbour(m->question, a, m->mine, m->mine_count, m->theirs, m->theirs_count) &&
           !has_neighbour(m->question, b, m->theirs, m->theirs_count, m->mine, m->mine_count);
}

static void target_add(struct trial_candidates *c, const json_t *question, const struct seen *a,
                       const struct seen *b, const struct gid *gids, bool is_shared, int group)
{
    struct wire_trial_target t = {.port = a->number,
                                  .from = a->id,
                                  .to = b->id,
                                  .is_ethernet = a->is_ethernet,
                                  .gid = gids[0],
                                  .peer_gid = gids[1],
                                  .lid = (uint16_t)whole(b->port, "lid", 0),
                                  .number = (uint32_t)whole(b->port, "queue_pair", 0),
                                  .mtu = a->mtu < b->mtu ? a->mtu : b->mtu,
                                  .group = group,
                                  .host = b->host,
                                  .row = c->count};
    int limit = whole(question, "mtu", 0);
    json_t *try;

    if (limit >= MTU_LEAST && t.mtu > limit)
        t.mtu = limit;
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

/* Whether any two ports of these hosts are in one subnet: then only such are tried, and those that are stated. */
static bool any_shared(const struct meeting *m)
{
    for (int i = 0; i < m->mine_count; i++)
        for (int j = 0; j < m->theirs_count; j++)
            if (is_shared(m->question, &m->mine[i], &m->theirs[j]))
                return true;
    return false;
}

static void host_find(struct trial_candidates *c, const struct meeting *m, const char *device)
{
    bool shared = any_shared(m);
    int open_group = c->groups++; /* one of the device's ports is enough */

    for (int i = 0; i < m->mine_count; i++) {
        const struct seen *a = &m->mine[i];
        int group = c->groups;

        if (strcmp(a->device, device) != 0)
            continue;
        c->groups++;
        if (m->theirs_count && port_naming(m->question, a, m->theirs->host) == NAMED_OPEN)
            group = open_group;
        for (int j = 0; j < m->theirs_count; j++) {
            const struct seen *b = &m->theirs[j];
            struct gid gids[2];
            int score;

            memset(gids, 0, sizeof(gids));
            score = ports_score(m->question, a, b, &gids[0], &gids[1]);
            if (score >= GID_SHARED || (score > 0 && (!shared || is_stated(m, a, b))))
                target_add(c, m->question, a, b, gids, score >= GID_SHARED,
                           is_wanted(m->question, a, b) ? group : -1);
        }
    }
}

void trial_candidates_find(struct trial_candidates *out, const json_t *question, const char *device)
{
    int me = whole(question, "host", -1);
    int hosts = (int)json_array_size(json_object_get(question, "hosts"));

    *out = (struct trial_candidates){.tries = json_array()};
    for (int i = 0; i < hosts && me >= 0; i++) {
        struct meeting m = {.question = question};

        if (i == me)
            continue;
        m.mine = ports_see(question, me, &m.mine_count);
        m.theirs = ports_see(question, i, &m.theirs_count);
        host_find(out, &m, device);
        free(m.mine);
        free(m.theirs);
    }
}

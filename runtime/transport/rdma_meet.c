/* SPDX-License-Identifier: MIT */
#include "runtime/transport/rdma_meet.h"

#include "common/text/number.h"
#include "coordinator/protocol.h"
#include "runtime/group/coord_events.h"
#include "runtime/group/world.h"
#include "runtime/process/fork_guard.h"
#include "runtime/process/stdio_guard.h"
#include "runtime/transport/rdma_door.h"
#include "runtime/transport/rdma_module.h"
#include "runtime/transport/rdma_topology.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

enum {
    ENDS_MOST = 64 * 1024, /* bytes that a peer may describe its devices with; they need 1/8 */
    DESCRIPTORS = 32,      /* an endpoint's, at most */
};

enum rdma_way_state { WAY_NONE, WAY_ASKED, WAY_CONNECTED, WAY_AGREED, WAY_UP, WAY_LOST };

/* How far this rank is on its way to a peer. It changes under the door's lock. */
struct rdma_way {
    _Atomic int state;
    struct endpoint *endpoint; /* until the link has it */
    struct fault *lost;        /* why it has failed, or NULL; before `state` is LOST */
};

struct rdma_meet {
    struct rdma_entry entry;
    struct door *door;
    const struct endpoint_table *rdma;
    struct rdma_topology *topology;
    bool *needed; /* per rank */
    struct rdma_way *ways;
};

/* --- endpoints -------------------------------------------------------------------------------- */

static void rdma_way_guard(const struct rdma_meet *m, const struct rdma_way *way, bool adds)
{
    int fds[DESCRIPTORS];
    int count = m->rdma->descriptors(way->endpoint, fds, DESCRIPTORS);

    for (int i = 0; i < count; i++)
        adds ? fork_guard_add(fds[i]) : fork_guard_forget(fds[i]);
}

static int rdma_way_open(struct rdma_meet *m, int peer, struct fault *why)
{
    struct rdma_way *way = &m->ways[peer];
    int held[STDIO_GUARD], rc;

    stdio_guard_begin(held);
    rc = rdma_topology_endpoint(m->topology, m->rdma, m->entry.group, peer, true, &way->endpoint,
                                why);
    stdio_guard_end(held);
    if (!rc)
        rdma_way_guard(m, way, true);
    return rc;
}

static void rdma_way_close(struct rdma_meet *m, struct rdma_way *way)
{
    if (!way->endpoint)
        return;
    rdma_way_guard(m, way, false);
    m->rdma->close(way->endpoint);
    way->endpoint = NULL;
}

/* --- words ------------------------------------------------------------------------------------ */

/* What a peer has said. */
struct word {
    uint8_t *ends; /* owned; NULL: not said */
    size_t size;
    uint32_t rails; /* one bit for each that is connected; 0: not said */
};

/* False: it makes no sense, or there is no memory for it. */
static bool word_parse(const json_t *j, struct word *out)
{
    const char *hex = json_string_value(json_object_get(j, "meet"));
    json_int_t rails = json_integer_value(json_object_get(j, "rails"));
    size_t digits = hex ? strlen(hex) : 0;

    *out = (struct word){.rails = (uint32_t)rails, .size = digits / 2};
    if (!hex || rails < 0 || rails >= 1 << RDMA_RAILS || (!digits && !rails) ||
        digits > 2 * (size_t)ENDS_MOST)
        return false;
    if (!digits)
        return true;
    out->ends = malloc(out->size + 1);
    if (out->ends && hex_parse(hex, out->ends, out->size))
        return true;
    free(out->ends);
    out->ends = NULL;
    return false;
}

/* Says this rank's ends, if `ends`, and the rails that are connected, if any. */
static int rdma_way_say(struct rdma_meet *m, int peer, bool ends, uint32_t rails, struct fault *why)
{
    const struct group *g = m->entry.group;
    size_t size = 0;
    const void *bytes = m->rdma->publish(m->ways[peer].endpoint, &size);
    char *hex = malloc(2 * size + 1);
    int rc;

    if (!hex)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    hex_write(hex, bytes, ends ? size : 0);
    rc = coord_events_send(g->world->coord_events, COORD_RELAY,
                           json_pack("{s:I, s:i, s:{s:s, s:i}}", "group", (json_int_t)g->id, "to",
                                     g->members[peer], "word", "meet", hex, "rails", (int)rails),
                           why);
    free(hex);
    return rc;
}

/* --- the way ---------------------------------------------------------------------------------- */

/* Every failure ends here. If the peer's death has led to it, the group is not broken. */
static void rdma_way_lose(struct rdma_meet *m, int peer, struct fault *why)
{
    struct rdma_way *way = &m->ways[peer];
    struct group *g = m->entry.group;
    char who[GROUP_MEMBER_TEXT];

    rdma_way_close(m, way);
    fault_wrap(why, "%s", group_describe(g, g->rank, who));
    way->lost = malloc(sizeof(*way->lost));
    if (way->lost)
        *way->lost = *why;
    atomic_store(&way->state, WAY_LOST);
    if (coord_events_peer(g->world->coord_events, g->members[peer], NULL) == PEER_PRESENT)
        coord_events_break(g->world->coord_events, g, why);
}

/* The peer's ends have come. */
static int rdma_way_connect(struct rdma_meet *m, int peer, const struct word *w, struct fault *why)
{
    struct rdma_way *way = &m->ways[peer];
    bool is_asked = atomic_load(&way->state) == WAY_NONE;
    int rc = is_asked ? rdma_way_open(m, peer, why) : 0;

    if (!rc)
        rc = m->rdma->connect(way->endpoint, w->ends, w->size, why);
    if (!rc)
        rc = rdma_way_say(m, peer, is_asked, m->rdma->connected(way->endpoint), why);
    if (!rc)
        atomic_store(&way->state, WAY_CONNECTED);
    return rc;
}

/* The peer is connected: a packet before that would be lost, and sent again seconds later. */
static int rdma_way_agree(struct rdma_meet *m, int peer, uint32_t rails, struct fault *why)
{
    struct rdma_way *way = &m->ways[peer];
    bool done = false;
    int rc;

    rdma_way_guard(m, way, false);
    rc = m->rdma->agree(way->endpoint, rails, why); /* closes what is not used */
    rdma_way_guard(m, way, true);
    if (!rc) /* whether what comes is right, and what has failed meanwhile, is the link's to see */
        m->rdma->check(way->endpoint, &done, why);
    if (!rc)
        atomic_store(&way->state, WAY_AGREED);
    return rc;
}

bool rdma_meet_hear(struct rdma_meet *m, int peer, const json_t *j)
{
    const struct group *g = m->entry.group;
    struct rdma_way *way = &m->ways[peer];
    int state = atomic_load(&way->state), rc = 0;
    struct fault why;
    struct word w;

    if (!m->needed[peer] || state == WAY_LOST || state == WAY_UP)
        return false;
    if (!word_parse(j, &w) || (w.ends && state != WAY_NONE && state != WAY_ASKED) ||
        (!w.ends && state != WAY_CONNECTED))
        rc = fault_set(&why, ML_ERR_REFUSED, "rank %d sent a damaged message about queue pairs",
                       g->members[peer]);
    if (!rc && w.ends)
        rc = rdma_way_connect(m, peer, &w, &why);
    if (!rc && w.rails)
        rc = rdma_way_agree(m, peer, w.rails, &why);
    free(w.ends);
    if (rc)
        rdma_way_lose(m, peer, &why);
    state = atomic_load(&way->state);
    return state == WAY_AGREED || state == WAY_LOST;
}

/* See rdma_meet.h; struct rdma_entry has the rest. */
static bool rdma_meet_on_word(struct rdma_entry *e, int peer, const json_t *word)
{
    return rdma_meet_hear((struct rdma_meet *)e, peer, word);
}

/* Ends with the call that asks. */
static int rdma_way_ask(struct rdma_meet *m, int peer, struct fault *why)
{
    const struct group *g = m->entry.group;
    char who[GROUP_MEMBER_TEXT];
    int rc = rdma_way_open(m, peer, why);

    if (rc == ML_ERR_SYSTEM) /* no descriptor, in a call that did not ask for one */
        rc = why->code = ML_ERR_LINK;
    if (rc)
        return fault_wrap(why, "%s", group_describe(g, g->rank, who));
    rc = rdma_way_say(m, peer, true, 0, why);
    if (!rc)
        atomic_store(&m->ways[peer].state, WAY_ASKED);
    return rc;
}

int rdma_meet_join(struct rdma_meet *m, int peer, bool sends, struct endpoint **out,
                   struct fault *why)
{
    struct rdma_way *way = &m->ways[peer];
    int state = atomic_load(&way->state), rc = 0;

    if (state != WAY_AGREED && (state != WAY_NONE || !sends))
        return 0;
    rdma_door_lock(m->door);
    state = atomic_load(&way->state);
    if (state == WAY_AGREED) {
        *out = way->endpoint;
        way->endpoint = NULL;
        atomic_store(&way->state, WAY_UP);
        rc = 1;
    } else if (state == WAY_NONE) {
        rc = rdma_way_ask(m, peer, why);
    }
    rdma_door_unlock(m->door);
    return rc;
}

const struct fault *rdma_meet_reason(const struct rdma_meet *m, int peer)
{
    const struct rdma_way *way = &m->ways[peer];

    return atomic_load(&way->state) == WAY_LOST ? way->lost : NULL;
}

const struct endpoint_table *rdma_meet_table(const struct rdma_meet *m)
{
    return m->rdma;
}

/* --- life ------------------------------------------------------------------------------------- */

int rdma_meet_open(struct rdma_meet **out, struct group *g, const bool *needed, struct fault *why)
{
    struct rdma_meet *m = calloc(1, sizeof(*m));
    int rc = 0;

    if (!m)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    m->entry = (struct rdma_entry){.group = g, .hear = rdma_meet_on_word};
    m->needed = calloc((size_t)g->size, sizeof(*m->needed));
    m->ways = calloc((size_t)g->size, sizeof(*m->ways));
    if (!m->needed || !m->ways)
        rc = fault_set(why, ML_ERR_MEMORY, "out of memory");
    if (!rc)
        rc = rdma_module_open(&m->rdma, why);
    if (!rc)
        rc = rdma_topology_read(&m->topology, g->world->dir, why);
    /* The world is the first group, and has a door if any group of the process needs one. */
    if (!rc && !g->world->door)
        rc = rdma_door_open(&g->world->door, g->world, why);
    if (rc) {
        rdma_meet_close(m);
        return rc;
    }
    memcpy(m->needed, needed, (size_t)g->size * sizeof(*needed));
    m->door = g->world->door;
    rdma_door_add(m->door, &m->entry);
    *out = m;
    return 0;
}

void rdma_meet_close(struct rdma_meet *m)
{
    if (!m)
        return;
    if (m->door)
        rdma_door_remove(m->door, &m->entry);
    for (int i = 0; i < m->entry.group->size && m->ways; i++) {
        rdma_way_close(m, &m->ways[i]);
        free(m->ways[i].lost);
    }
    rdma_topology_destroy(m->topology);
    free(m->needed);
    free(m->ways);
    free(m);
}

/* SPDX-License-Identifier: MIT */
#include "runtime/tcp/tcp_mesh.h"

#include "common/clock.h"
#include "common/failure_times.h"
#include "common/net/tcp_seal.h"
#include "runtime/group/world.h"
#include "runtime/process/fork_guard.h"
#include "runtime/process/stdio_guard.h"
#include "runtime/tcp/tcp_door.h"
#include "runtime/tcp/tcp_farewell_linux.h"
#include "runtime/tcp/tcp_wire.h"

#include <poll.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum way_state { WAY_NONE, WAY_CONNECTING, WAY_AWAITED, WAY_ARRIVED, WAY_UP };

/* How far this rank is on its way to a peer. */
struct way {
    _Atomic int state;     /* changes under the door's lock */
    int fd;                /* ARRIVED: under the door's lock */
    struct tcp_seal *seal; /* the same */
    struct tcp_wire *wire; /* this rank's own connection, or NULL */
    int64_t since_ms;      /* clock_ms; when its first one was begun */
    struct fault *lost;    /* why it has failed, or NULL */
};

struct tcp_mesh {
    struct tcp_entry entry;
    struct door *door;
    struct exchange *where;
    bool *needed; /* per rank */
    struct way *ways;
    int *parting; /* connections of links that were closed, one for each rank at most */
    int parting_count;
};

/* --- whose connection ------------------------------------------------------------------------- */

/* With --secure, what the two ranks send from now on; else *out stays NULL. */
static int tcp_mesh_seal(struct tcp_seal **out, const struct group *g, const struct tcp_wire *w,
                         struct fault *why)
{
    struct auth_keys keys;
    int rc;

    if (!g->world->job.secure)
        return 0;
    auth_derive_keys(w->auth, &keys);
    rc = tcp_seal_create(out, &keys, why);
    sodium_memzero(&keys, sizeof(keys));
    return rc;
}

/* See tcp_mesh.h; struct tcp_entry has the rest. */
static bool tcp_mesh_admit(struct tcp_entry *e, int peer, struct tcp_wire *w)
{
    struct tcp_mesh *m = (struct tcp_mesh *)e;
    struct way *way = &m->ways[peer];
    int state = atomic_load(&way->state);

    if (!m->needed[peer] || state == WAY_ARRIVED || state == WAY_UP)
        return false;
    if (state == WAY_CONNECTING && e->group->rank < peer) {
        tcp_wire_decide(w, false);
        return false;
    }
    if (tcp_mesh_seal(&way->seal, e->group, w, NULL) != 0 || !tcp_wire_decide(w, true)) {
        tcp_seal_destroy(way->seal);
        way->seal = NULL;
        return false;
    }
    way->fd = w->fd;
    w->fd = -1;
    atomic_store(&way->state, WAY_ARRIVED);
    return true;
}

static bool way_change(struct tcp_mesh *m, struct way *way, int from, int to)
{
    bool changes;

    tcp_door_lock(m->door);
    changes = atomic_load(&way->state) == from;
    if (changes)
        atomic_store(&way->state, to);
    tcp_door_unlock(m->door);
    return changes;
}

static void way_drop_wire(struct way *way)
{
    if (way->wire)
        tcp_wire_drop(way->wire);
    free(way->wire);
    way->wire = NULL;
}

/* --- this rank's own connection --------------------------------------------------------------- */

/* Every failure of a wire to a known peer ends here: it is named, with what it was doing. */
static int tcp_mesh_wrap(const struct tcp_mesh *m, int peer, struct fault *why)
{
    const struct group *g = m->entry.group;
    char who[GROUP_MEMBER_TEXT];

    return fault_wrap(why, "rank %d on host %s cannot connect to %s", g->members[g->rank],
                      g->world->job.host, group_describe(g, peer, who));
}

/* Keeps why the wire has failed until the coordinator has had time to say that the peer has
 * ended. Another thread may be at the door and have taken the peer's own connection, in whose place
 * the peer has closed this one. */
static int way_lose(struct tcp_mesh *m, struct way *way, int peer, struct fault *why)
{
    way_drop_wire(way);
    if (!way_change(m, way, WAY_CONNECTING, WAY_CONNECTING))
        return 0;
    tcp_mesh_wrap(m, peer, why);
    way->lost = malloc(sizeof(*way->lost));
    if (!way->lost)
        return why->code;
    *way->lost = *why;
    return 0;
}

/* Whether the peer may have dropped the connection because too many strangers connect there. Once
 * the peer has proved who it is, it may also have left the group: so tries end after a while. */
static bool way_is_crowded_out(const struct way *way, int rc, bool was_proved)
{
    return rc == ML_ERR_LINK && way->wire->state == TCP_WIRE_SHAKING &&
           (!was_proved || clock_ms() - way->since_ms < HANDSHAKE_MS);
}

/* Also again, if it was crowded out. */
static int way_connect(struct tcp_mesh *m, struct way *way, int peer, struct fault *why)
{
    const struct group *g = m->entry.group;
    struct blob blob = exchange_blob(m->where, peer);
    char where[ADDRESS_TEXT];
    int held[STDIO_GUARD], rc;

    way_drop_wire(way);
    way->wire = malloc(sizeof(*way->wire));
    if (!way->wire)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    *way->wire = (struct tcp_wire){.fd = -1, .peer = peer};
    snprintf(where, sizeof(where), "%.*s", (int)blob.size, (const char *)blob.bytes);
    stdio_guard_begin(held);
    address_take_scope(where, g->world->job.bind_ip);
    rc = address_parse(&way->wire->to, where, why);
    if (!rc)
        rc = tcp_wire_connect(way->wire, g, why);
    stdio_guard_end(held);
    if (rc == ML_ERR_PEER || rc == ML_ERR_LINK) { /* no way leads there now */
        why->code = ML_ERR_LINK;
        return way_lose(m, way, peer, why);
    }
    return rc ? tcp_mesh_wrap(m, peer, why) : 0;
}

/* 1: *fd is connected. */
static int way_win(struct tcp_mesh *m, struct way *way, int *fd, struct tcp_seal **seal,
                   struct fault *why)
{
    int rc = tcp_mesh_seal(seal, m->entry.group, way->wire, why);

    if (rc)
        return rc;
    way_change(m, way, WAY_CONNECTING, WAY_UP);
    *fd = way->wire->fd;
    way->wire->fd = -1;
    way_drop_wire(way);
    return 1;
}

static int way_step(struct tcp_mesh *m, struct way *way, int peer, int *fd, struct tcp_seal **seal,
                    struct fault *why)
{
    struct tcp_wire *w = way->wire;
    struct pollfd p;
    enum tcp_verdict verdict = TCP_VERDICT_NONE;
    bool was_proved = w->is_proved;
    int rc = 0;

    if (tcp_mesh_watch(m, peer, &p) && poll(&p, 1, 0) <= 0)
        return 0;
    if (!was_proved || w->out_size)
        rc = tcp_wire_step(w, p.revents, why);
    if (!rc && w->is_proved && !w->out_size)
        rc = tcp_wire_await(w, &verdict, why);
    if (way_is_crowded_out(way, rc, was_proved))
        return way_connect(m, way, peer, why);
    if (rc)
        return way_lose(m, way, peer, why);
    if (verdict == TCP_VERDICT_TAKEN)
        return way_win(m, way, fd, seal, why);
    if (verdict == TCP_VERDICT_REFUSED) {
        way_drop_wire(way);
        way_change(m, way, WAY_CONNECTING, WAY_AWAITED);
    }
    return 0;
}

int tcp_mesh_join(struct tcp_mesh *m, int peer, bool sends, int *fd, struct tcp_seal **seal,
                  struct fault *why)
{
    struct way *way = &m->ways[peer];

    if (atomic_load(&way->state) == WAY_ARRIVED) {
        way_drop_wire(way);
        tcp_door_lock(m->door);
        *fd = way->fd;
        *seal = way->seal;
        way->seal = NULL;
        atomic_store(&way->state, WAY_UP);
        tcp_door_unlock(m->door);
        return 1;
    }
    if (way->wire)
        return way_step(m, way, peer, fd, seal, why);
    if (!sends || way->lost || !way_change(m, way, WAY_NONE, WAY_CONNECTING))
        return 0;
    way->since_ms = clock_ms();
    return way_connect(m, way, peer, why);
}

int tcp_mesh_watch(const struct tcp_mesh *m, int peer, struct pollfd *p)
{
    const struct tcp_wire *w = m->ways[peer].wire;

    if (!w)
        return 0;
    *p = (struct pollfd){
        .fd = w->fd,
        .events = (short)(w->state == TCP_WIRE_CONNECTING || w->out_size ? POLLOUT : POLLIN)};
    return 1;
}

const struct fault *tcp_mesh_reason(const struct tcp_mesh *m, int peer)
{
    return m->ways[peer].lost;
}

/* --- life ------------------------------------------------------------------------------------- */

int tcp_mesh_open(struct tcp_mesh **out, struct group *g, const bool *needed, const char **where,
                  struct fault *why)
{
    struct tcp_mesh *m = calloc(1, sizeof(*m));
    int rc = 0;

    if (!m)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    m->entry = (struct tcp_entry){.group = g, .admit = tcp_mesh_admit};
    m->needed = calloc((size_t)g->size, sizeof(*m->needed));
    m->ways = calloc((size_t)g->size, sizeof(*m->ways));
    m->parting = calloc((size_t)g->size, sizeof(*m->parting));
    if (!m->needed || !m->ways || !m->parting) {
        rc = fault_set(why, ML_ERR_MEMORY, "out of memory");
        goto fail;
    }
    memcpy(m->needed, needed, (size_t)g->size * sizeof(*needed));
    /* The world is the first group, and has a door if any group of the process needs one. */
    if (!g->world->door)
        rc = tcp_door_open(&g->world->door, g->world, why);
    if (rc)
        goto fail;
    m->door = g->world->door;
    tcp_door_add(m->door, &m->entry);
    *where = tcp_door_where(m->door);
    *out = m;
    return 0;
fail:
    tcp_mesh_close(m);
    return rc;
}

void tcp_mesh_part_from(struct tcp_mesh *m, int fd)
{
    m->parting[m->parting_count++] = fd;
}

void tcp_mesh_close(struct tcp_mesh *m)
{
    if (!m)
        return;
    if (m->door)
        tcp_door_remove(m->door, &m->entry);
    for (int i = 0; i < m->entry.group->size && m->ways; i++) {
        struct way *way = &m->ways[i];

        if (way->state == WAY_ARRIVED) {
            fork_guard_close(way->fd);
            tcp_seal_destroy(way->seal);
        }
        way_drop_wire(way);
        free(way->lost);
    }
    tcp_farewell_run(m->parting, m->parting_count);
    exchange_destroy(m->where);
    free(m->parting);
    free(m->needed);
    free(m->ways);
    free(m);
}

void tcp_mesh_found(struct tcp_mesh *m, struct exchange *x)
{
    m->where = x;
}

/* SPDX-License-Identifier: MIT */
#include "runtime/transport/rdma_mesh.h"

#include "common/clock.h"
#include "runtime/group/coord_events.h"
#include "runtime/group/door.h"
#include "runtime/group/exchange.h"
#include "runtime/group/wait_note.h"
#include "runtime/group/world.h"
#include "runtime/process/bell.h"
#include "runtime/transport/rdma_link.h"
#include "runtime/transport/rdma_module.h"
#include "runtime/transport/rdma_topology.h"

#include <poll.h>
#include <stdlib.h>

enum { POLLS_FIXED = 3 /* coordinator, bell, door */ };

struct rdma_mesh {
    struct group *group;
    const struct endpoint_table *rdma;
    struct rdma_topology *topology;
    struct endpoint **endpoints; /* per rank of the group; NULL: not needed */
    bool *checked;
    struct wait_noted noted;
};

int rdma_mesh_open(struct rdma_mesh **out, struct group *g, const bool *needed, struct fault *why)
{
    struct rdma_mesh *m = calloc(1, sizeof(*m));
    int rc;

    if (!m)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    m->group = g;
    m->endpoints = calloc((size_t)g->size, sizeof(struct endpoint *));
    m->checked = calloc((size_t)g->size, sizeof(*m->checked));
    rc = m->endpoints && m->checked ? rdma_module_open(&m->rdma, why)
                                    : fault_set(why, ML_ERR_MEMORY, "out of memory");
    if (!rc)
        rc = rdma_topology_read(&m->topology, g->world->dir, why);
    for (int i = 0; i < g->size && !rc; i++)
        if (needed[i])
            rc = rdma_topology_endpoint(m->topology, m->rdma, g, i, false, &m->endpoints[i], why);
    if (rc) {
        rdma_mesh_close(m);
        return rc;
    }
    *out = m;
    return 0;
}

void rdma_mesh_close(struct rdma_mesh *m)
{
    if (!m)
        return;
    wait_noted_end(&m->noted, m->group);
    for (int i = 0; i < m->group->size && m->rdma && m->endpoints; i++)
        if (m->endpoints[i])
            m->rdma->close(m->endpoints[i]);
    free(m->endpoints);
    free(m->checked);
    rdma_topology_destroy(m->topology);
    free(m);
}

static int rdma_mesh_connect(struct rdma_mesh *m, int64_t deadline_ms, struct fault *why)
{
    struct group *g = m->group;
    struct blob *mine = calloc((size_t)g->size, sizeof(*mine));
    struct exchange *x = NULL;
    char who[GROUP_MEMBER_TEXT];
    int rc;

    if (!mine)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    for (int i = 0; i < g->size; i++) {
        size_t size = 0;

        if (m->endpoints[i])
            mine[i].bytes = m->rdma->publish(m->endpoints[i], &size);
        mine[i].size = (uint32_t)size;
    }
    rc = exchange_run_each(&x, g, mine, deadline_ms, why);
    free(mine);
    for (int i = 0; i < g->size && !rc; i++) {
        struct blob theirs = exchange_blob(x, i);

        if (m->endpoints[i] && m->rdma->connect(m->endpoints[i], theirs.bytes, theirs.size, why))
            rc = fault_wrap(why, "%s", group_describe(g, g->rank, who));
    }
    exchange_destroy(x);
    return rc;
}

/* Looks once at each endpoint; *left: how many have not heard from their peer. */
static int rdma_mesh_check_all(struct rdma_mesh *m, int *left, struct fault *why)
{
    struct group *g = m->group;
    char who[GROUP_MEMBER_TEXT];

    *left = 0;
    for (int i = 0; i < g->size; i++) {
        if (!m->endpoints[i] || m->checked[i])
            continue;
        if (m->rdma->check(m->endpoints[i], &m->checked[i], why))
            return fault_wrap(why, "%s", group_describe(g, g->rank, who));
        *left += !m->checked[i];
    }
    return 0;
}

static int rdma_mesh_check_late(struct rdma_mesh *m, struct fault *why)
{
    struct group *g = m->group;
    char who[GROUP_MEMBER_TEXT];
    int i = 0;

    while (!m->endpoints[i] || m->checked[i])
        i++;
    m->rdma->check_late(m->endpoints[i], why);
    return fault_wrap(why, "%s", group_describe(g, g->rank, who));
}

/* Sleeps until one of the unchecked endpoints may have received something. */
static void rdma_mesh_sleep(struct rdma_mesh *m, struct pollfd *polls, int64_t deadline_ms)
{
    struct coord_events *e = m->group->world->coord_events;
    struct door *door = m->group->world->door;
    int count = 0;
    bool is_ready = false;

    polls[count++] = (struct pollfd){.fd = coord_events_fd(e), .events = POLLIN};
    polls[count++] = (struct pollfd){.fd = m->group->waiting.bell, .events = POLLIN};
    polls[count++] = (struct pollfd){.fd = door ? door->fd : -1, .events = POLLIN};
    for (int i = 0; i < m->group->size; i++) {
        if (!m->endpoints[i] || m->checked[i])
            continue;
        is_ready |= m->rdma->sleep(m->endpoints[i], false, 0) < 0;
        polls[count++] = (struct pollfd){.fd = m->rdma->fd(m->endpoints[i]), .events = POLLIN};
    }
    if (!is_ready)
        clock_poll(polls, (nfds_t)count, wait_noted_deadline(&m->noted, deadline_ms));
    for (int i = 0; i < m->group->size; i++)
        if (m->endpoints[i] && !m->checked[i])
            m->rdma->wake(m->endpoints[i]);
    if (polls[1].revents) /* another thread has read news */
        bell_silence(m->group->waiting.bell);
    if (polls[0].revents)
        coord_events_read(e, m->group);
    if (door && polls[2].revents)
        door->look(door, m->group, NULL);
    wait_noted_look(&m->noted, m->group);
}

/* Fails if the coordinator has said that a member failed or is gone. */
static int rdma_mesh_hear(struct rdma_mesh *m, struct fault *why)
{
    struct group *g = m->group;
    int rc = coord_events_broken(g->world->coord_events, g, why);

    for (int i = 0; i < g->size && !rc; i++)
        if (m->endpoints[i] && !m->checked[i] &&
            coord_events_peer(g->world->coord_events, g->members[i], why) != PEER_PRESENT)
            rc = ML_ERR_PEER;
    return rc;
}

static int rdma_mesh_check(struct rdma_mesh *m, int64_t deadline_ms, struct fault *why)
{
    struct group *g = m->group;
    struct pollfd *polls = calloc((size_t)g->size + POLLS_FIXED, sizeof(*polls));
    int rc = polls ? 0 : fault_set(why, ML_ERR_MEMORY, "out of memory"), left = 1;

    while (!rc && left > 0) {
        rc = rdma_mesh_check_all(m, &left, why);
        if (!rc && left > 0 && clock_ms() >= deadline_ms)
            rc = rdma_mesh_check_late(m, why);
        if (!rc && left > 0)
            rc = rdma_mesh_hear(m, why);
        if (!rc && left > 0)
            rdma_mesh_sleep(m, polls, deadline_ms);
    }
    free(polls);
    return rc;
}

int rdma_mesh_run(struct rdma_mesh *m, int64_t deadline_ms, struct fault *why)
{
    struct group *g = m->group;
    struct exchange *x = NULL;
    int rc = rdma_mesh_connect(m, deadline_ms, why);

    /* A packet to a queue pair that isn't connected yet would be lost, and sent again seconds
     * later. */
    if (!rc)
        rc = exchange_run(&x, g, (struct blob){NULL, 0}, deadline_ms, why);
    exchange_destroy(x);
    if (!rc)
        rc = rdma_mesh_check(m, deadline_ms, why);
    for (int i = 0; i < g->size && !rc; i++) {
        struct endpoint *e = m->endpoints[i];

        m->endpoints[i] = NULL;
        if (e)
            rc = rdma_link_open(&g->links[i], g, i, m->rdma, e, why);
    }
    return rc;
}

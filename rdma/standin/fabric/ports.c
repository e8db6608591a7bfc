/* SPDX-License-Identifier: MIT */
#include "rdma/standin/fabric/ports.h"

#include "rdma/standin/profile/notation.h"

#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PHYSICAL_POLLING = 2, PHYSICAL_DISABLED = 3, PHYSICAL_UP = 5 };

/* --- open and close --------------------------------------------------------------------------- */

/* The GIDs of a port in the kernel's order: each address with each type of the table. */
static void gids_fill(struct fabric_port *port, const struct profile_port *p, uint32_t types)
{
    int at = 0;

    for (int i = 0; i < p->address_count; i++)
        for (uint8_t type = 0; type <= IBV_GID_TYPE_ROCE_V2 && at < FABRIC_GIDS_MOST; type++) {
            if (!(types & 1U << type))
                continue;
            port->gids[at] = p->addresses[i];
            port->gid_types[at++] = type;
        }
}

static void device_fill(struct ports_device *d, const struct profile_device *p)
{
    bool is_ethernet = p->kind->port.attr.link_layer == IBV_LINK_LAYER_ETHERNET;

    d->profile = p;
    d->name = p->name;
    d->is = p->kind->is;
    d->is.kind = FABRIC_DEVICE;
    snprintf(d->is.host, sizeof(d->is.host), "%s", p->host);
    d->is.attr.node_guid = htobe64(p->node_guid);
    d->is.attr.sys_image_guid = d->is.attr.node_guid;
    d->port_count = p->kind->is.attr.phys_port_cnt;
    for (int i = 0; i < d->port_count; i++) {
        struct ports_port *port = &d->ports[i];

        *port = (struct ports_port){.device = d, .is = &d->is.ports[i], .profile = &p->ports[i]};
        port->number = i + 1;
        port->network = -1;
        *port->is = p->kind->port;
        port->is->attr.lid = p->ports[i].lid;
        port->is->attr.sm_lid = p->ports[i].sm_lid;
        gids_fill(port->is, &p->ports[i], is_ethernet ? p->gid_types : 1U << IBV_GID_TYPE_IB);
    }
}

static struct ports_host *host_add(struct ports *p, const char *name)
{
    int i = 0;

    while (i < p->host_count && strcmp(p->hosts[i].name, name) != 0)
        i++;
    if (i == p->host_count)
        snprintf(p->hosts[p->host_count++].name, FABRIC_NAME, "%s", name);
    return &p->hosts[i];
}

static void devices_fill(struct ports *p, const struct profile *profile)
{
    for (int i = 0; i < profile->device_count; i++) {
        struct ports_device *d = &p->devices[i];

        device_fill(d, &profile->devices[i]);
        d->host = host_add(p, profile->devices[i].host);
        for (int j = 0; j < i; j++)
            d->verbs_number += p->devices[j].host == d->host;
        for (int j = 0; j < d->port_count; j++)
            d->ports[j].index = p->port_count++;
    }
    p->device_count = profile->device_count;
}

static struct ports_port *port_at(const struct ports *p, const struct profile_end *e)
{
    return &p->devices[e->at].ports[e->port - 1];
}

static void wires_fill(struct ports *p, const struct profile *profile)
{
    for (int i = 0; i < profile->wire_count; i++) {
        const struct profile_wire *w = &profile->wires[i];
        const struct ports_lane lane = {.rate = w->rate, .delay_ns = w->delay_ns, .loss = w->loss};

        for (int j = 0; j < w->count; j++) {
            struct ports_port *port = port_at(p, &w->ends[j]);

            port->network = i;
            port->out = lane;
            if (w->section.kind_of == PROFILE_SWITCH)
                port->in = lane;
            else
                port->other = port_at(p, &w->ends[1 - j]);
        }
    }
}

int ports_open(struct ports **out, const struct profile *profile, struct fault *why)
{
    struct ports *p = calloc(1, sizeof(*p));

    if (p) {
        p->hosts = calloc((size_t)profile->device_count, sizeof(*p->hosts));
        p->devices = calloc((size_t)profile->device_count, sizeof(*p->devices));
    }
    if (!p || !p->hosts || !p->devices) {
        ports_close(p);
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    }
    devices_fill(p, profile);
    wires_fill(p, profile);
    *out = p;
    return 0;
}

void ports_close(struct ports *p)
{
    if (!p)
        return;
    free(p->hosts);
    free(p->devices);
    free(p);
}

/* --- by name ---------------------------------------------------------------------------------- */

struct ports_host *ports_find_host(const struct ports *p, const char *name, struct fault *why)
{
    for (int i = 0; i < p->host_count; i++)
        if (strcmp(p->hosts[i].name, name) == 0)
            return &p->hosts[i];
    fault_set(why, ML_ERR_ARGUMENT, "there is no host %.80s", name);
    return NULL;
}

static struct ports_device *device_find(const struct ports *p, const char *host, const char *name,
                                        struct fault *why)
{
    for (int i = 0; i < p->device_count; i++)
        if (strcmp(p->devices[i].host->name, host) == 0 && strcmp(p->devices[i].name, name) == 0)
            return &p->devices[i];
    fault_set(why, ML_ERR_ARGUMENT, "there is no device %s/%s", host, name);
    return NULL;
}

struct ports_device *ports_find_device(const struct ports *p, const char *text, struct fault *why)
{
    char host[FABRIC_NAME], name[FABRIC_NAME];

    if (notation_device(text, host, name))
        return device_find(p, host, name, why);
    fault_set(why, ML_ERR_ARGUMENT, "%.80s is not HOST/DEVICE, as in a/rxe0", text);
    return NULL;
}

struct ports_port *ports_find(const struct ports *p, const char *text, struct fault *why)
{
    char host[FABRIC_NAME], name[FABRIC_NAME];
    struct ports_device *d;
    int number;

    if (!notation_port(text, host, name, &number)) {
        fault_set(why, ML_ERR_ARGUMENT, "%.80s is not " NOTATION_PORT, text);
        return NULL;
    }
    d = device_find(p, host, name, why);
    if (!d)
        return NULL;
    if (number <= d->port_count)
        return &d->ports[number - 1];
    fault_set(why, ML_ERR_ARGUMENT, "%s/%s has no port %d, only 1 to %d", host, name, number,
              d->port_count);
    return NULL;
}

/* --- who reaches whom ------------------------------------------------------------------------- */

static bool port_has(const struct ports_port *p, const union ibv_gid *gid, uint16_t lid)
{
    if (fabric_gid_is_zero(gid))
        return lid && p->is->attr.lid == lid;
    for (int i = 0; i < FABRIC_GIDS_MOST; i++)
        if (memcmp(&p->is->gids[i], gid, sizeof(*gid)) == 0)
            return true;
    return false;
}

struct ports_port *ports_route(const struct ports *p, struct ports_port *from,
                               const union ibv_gid *to, uint16_t lid)
{
    if (port_has(from, to, lid))
        return from;
    if (from->network < 0)
        return NULL;
    for (int i = 0; i < p->device_count; i++)
        for (int j = 0; j < p->devices[i].port_count; j++) {
            struct ports_port *port = &p->devices[i].ports[j];

            if (port->network == from->network && port_has(port, to, lid))
                return port;
        }
    return NULL;
}

bool ports_can_send(const struct ports_port *p)
{
    return p->is->attr.state == IBV_PORT_ACTIVE;
}

bool ports_can_pass(const struct ports_port *from, const struct ports_port *to)
{
    if (!ports_can_send(from) || !ports_can_send(to) || from->device->host->is_gone ||
        to->device->host->is_gone)
        return false;
    return from == to || !from->is_one_way; /* the wire is not used from a port to itself */
}

/* --- changes ---------------------------------------------------------------------------------- */

/* Adds to changes[*count] if the port's state is another one now. */
static void port_refresh(struct ports_port *port, struct ports_change *changes, int *count)
{
    struct ibv_port_attr *attr = &port->is->attr;
    bool was_active = attr->state == IBV_PORT_ACTIVE;
    bool is_active = !port->is_unplugged && !port->is_down;

    attr->phys_state = port->is_down        ? PHYSICAL_DISABLED
                       : port->is_unplugged ? PHYSICAL_POLLING
                                            : PHYSICAL_UP;
    if (was_active == is_active)
        return;
    attr->state = is_active ? IBV_PORT_ACTIVE : IBV_PORT_DOWN;
    if (!is_active) {
        port->counters.downs++;
        port->is_counted = true;
    }
    changes[(*count)++] =
        (struct ports_change){port, is_active ? IBV_EVENT_PORT_ACTIVE : IBV_EVENT_PORT_ERR};
}

void ports_set_unplugged(struct ports *p, struct ports_port *port, bool is_unplugged)
{
    struct ports_change changes[2];
    int count = 0;

    port->is_unplugged = is_unplugged;
    port_refresh(port, changes, &count);
    if (port->other) {
        port->other->is_unplugged = is_unplugged;
        port_refresh(port->other, changes, &count);
    }
    p->on_change(p->arg, changes, count);
}

void ports_set_down(struct ports *p, struct ports_port *port, bool is_down)
{
    struct ports_change change;
    int count = 0;

    port->is_down = is_down;
    port_refresh(port, &change, &count);
    p->on_change(p->arg, &change, count);
}

int ports_set_gid(struct ports *p, struct ports_port *port, int index, const union ibv_gid *gid,
                  struct fault *why)
{
    const struct ports_port *owner = fabric_gid_is_zero(gid) ? NULL : ports_route(p, port, gid, 0);
    struct fabric_port *is = port->is;
    uint32_t types = port->device->profile->gid_types;

    if (owner && owner != port)
        return fault_set(why, ML_ERR_ARGUMENT, "%s/%s:%d has that GID already",
                         owner->device->host->name, owner->device->name, owner->number);
    is->gids[index] = *gid;
    if (is->attr.link_layer == IBV_LINK_LAYER_INFINIBAND)
        is->gid_types[index] = IBV_GID_TYPE_IB;
    else if (types == 1U << IBV_GID_TYPE_ROCE_V1)
        is->gid_types[index] = IBV_GID_TYPE_ROCE_V1;
    else
        is->gid_types[index] = types == 1U << IBV_GID_TYPE_ROCE_V2 || index % 2
                                   ? IBV_GID_TYPE_ROCE_V2
                                   : IBV_GID_TYPE_ROCE_V1;
    p->on_change(p->arg, &(struct ports_change){port, IBV_EVENT_GID_CHANGE}, 1);
    return 0;
}

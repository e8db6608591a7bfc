/* SPDX-License-Identifier: MIT */
#include "rdma/standin/profile/profile_wiring.h"

#include "rdma/standin/profile/profile_refuse.h"

#include <arpa/inet.h>
#include <string.h>

static const struct profile_device *end_device(const struct profile *p, const struct profile_end *e)
{
    return &p->devices[e->at];
}

static const struct profile_port *end_port(const struct profile *p, const struct profile_end *e)
{
    return &end_device(p, e)->ports[e->port - 1];
}

static bool ends_equal(const struct profile_end *a, const struct profile_end *b)
{
    return a->at == b->at && a->port == b->port;
}

/* --- ends ------------------------------------------------------------------------------------- */

static int end_find(const struct profile *p, const struct profile_wire *w, struct profile_end *e,
                    struct fault *why)
{
    int i = 0;

    while (i < p->device_count &&
           (strcmp(p->devices[i].host, e->host) != 0 || strcmp(p->devices[i].name, e->device) != 0))
        i++;
    if (i == p->device_count)
        return profile_refuse(p, &w->section, e->line, why,
                              "%s/%s:%d does not exist, as there is no [device %s/%s]", e->host,
                              e->device, e->port, e->host, e->device);
    if (e->port > p->devices[i].kind->is.attr.phys_port_cnt)
        return profile_refuse(p, &w->section, e->line, why,
                              "%s/%s:%d does not exist, as kind %s has %d port%s", e->host,
                              e->device, e->port, p->devices[i].kind_name,
                              p->devices[i].kind->is.attr.phys_port_cnt,
                              p->devices[i].kind->is.attr.phys_port_cnt == 1 ? "" : "s");
    e->at = i;
    return 0;
}

/* An end is in one place. `until` is the end at which the search stops. */
static int end_check(const struct profile *p, const struct profile_wire *w,
                     const struct profile_end *until, struct fault *why)
{
    for (int i = 0; i < p->wire_count; i++)
        for (int j = 0; j < p->wires[i].count; j++) {
            const struct profile_wire *other = &p->wires[i];
            const struct profile_end *e = &other->ends[j];

            if (e == until)
                return 0;
            if (ends_equal(e, until))
                return profile_refuse(
                    p, &w->section, until->line, why, "%s/%s:%d is in [%s %s] already, in line %d",
                    e->host, e->device, e->port, profile_section_words[other->section.kind_of],
                    other->section.name, e->line);
        }
    return 0;
}

/* --- addresses -------------------------------------------------------------------------------- */

static int address_refuse(const struct profile *p, const struct profile_end *a,
                          const struct profile_end *b, const union ibv_gid *gid, struct fault *why)
{
    const struct profile_section *s = &end_device(p, b)->section;
    const char *key = b->port == 1 ? "gids" : "gids2";
    char text[INET6_ADDRSTRLEN];

    inet_ntop(AF_INET6, gid->raw, text, sizeof(text));
    if (ends_equal(a, b))
        return profile_refuse(p, s, profile_line(s, key, NULL), why,
                              "the port has the GID %s twice", text);
    return profile_refuse(p, s, profile_line(s, key, NULL), why,
                          "the GID %s is there twice in one network: %s/%s:%d has it too", text,
                          a->host, a->device, a->port);
}

/* Two ports of one network, or one port with itself. */
static int pair_check(const struct profile *p, const struct profile_end *a,
                      const struct profile_end *b, struct fault *why)
{
    const struct profile_port *of_a = end_port(p, a), *of_b = end_port(p, b);
    const struct profile_section *s = &end_device(p, b)->section;
    const char *key = b->port == 1 ? "lid" : "lid2";

    for (int i = 0; i < of_a->address_count; i++)
        for (int j = of_a == of_b ? i + 1 : 0; j < of_b->address_count; j++)
            if (memcmp(&of_a->addresses[i], &of_b->addresses[j], sizeof(union ibv_gid)) == 0)
                return address_refuse(p, a, b, &of_a->addresses[i], why);
    if (of_a != of_b && of_a->lid && of_a->lid == of_b->lid)
        return profile_refuse(p, s, profile_line(s, key, NULL), why,
                              "the LID %d is there twice in one network: %s/%s:%d has it too",
                              of_a->lid, a->host, a->device, a->port);
    return 0;
}

static int ports_check(const struct profile *p, struct fault *why)
{
    int rc = 0;

    for (int i = 0; !rc && i < p->device_count; i++)
        for (int j = 0; !rc && j < p->devices[i].kind->is.attr.phys_port_cnt; j++) {
            struct profile_end e = {.at = i, .port = j + 1};

            rc = pair_check(p, &e, &e, why);
        }
    return rc;
}

/* --- wires ------------------------------------------------------------------------------------ */

static int wire_check(const struct profile *p, const struct profile_wire *w, struct fault *why)
{
    const struct profile_section *s = &w->section;
    bool is_wire = s->kind_of == PROFILE_WIRE;
    const char *key = is_wire ? "ends" : "ports";
    int rc = 0;

    if (is_wire ? w->count != 2 : w->count < 1)
        return profile_refuse(p, s, profile_line(s, key, NULL), why, "%s has %d, and %s", key,
                              w->count,
                              is_wire ? "a wire has 2 ends" : "a switch has a port at least");
    for (int i = 0; !rc && i < w->count; i++)
        rc = end_check(p, w, &w->ends[i], why);
    for (int i = 1; !rc && i < w->count; i++) {
        const struct profile_end *a = &w->ends[0], *b = &w->ends[i];

        if (end_device(p, a)->kind->port.attr.link_layer !=
            end_device(p, b)->kind->port.attr.link_layer)
            return profile_refuse(
                p, s, b->line, why,
                "%s/%s:%d and %s/%s:%d are not both Ethernet, nor both InfiniBand", a->host,
                a->device, a->port, b->host, b->device, b->port);
    }
    for (int i = 0; !rc && i < w->count; i++)
        for (int j = i + 1; !rc && j < w->count; j++)
            rc = pair_check(p, &w->ends[i], &w->ends[j], why);
    return rc;
}

int profile_wiring_check(struct profile *p, struct fault *why)
{
    int rc = ports_check(p, why);

    for (int i = 0; !rc && i < p->wire_count; i++)
        for (int j = 0; !rc && j < p->wires[i].count; j++)
            rc = end_find(p, &p->wires[i], &p->wires[i].ends[j], why);
    for (int i = 0; !rc && i < p->wire_count; i++)
        rc = wire_check(p, &p->wires[i], why);
    return rc;
}

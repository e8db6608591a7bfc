/* SPDX-License-Identifier: MIT */
#include "rdma/standin/profile/profile_check.h"

#include "rdma/standin/profile/profile_keys.h"
#include "rdma/standin/profile/profile_refuse.h"
#include "rdma/standin/profile/profile_wiring.h"

#include <endian.h>
#include <string.h>

enum { LIDS_MOST = 0xbfff };

static const uint64_t link_local = 0xfe80000000000000;

/* --- kinds ------------------------------------------------------------------------------------ */

static const struct opcode_need {
    int opcode;
    const char *name;
    uint32_t qp_types; /* one of them */
    const char *qp_words;
    int before; /* an opcode that has to be there too, or the same */
    const char *before_name;
} needs[] = {
    {IBV_WR_SEND_WITH_IMM, "send_imm", ~0U, "", IBV_WR_SEND, "send"},
    {IBV_WR_RDMA_WRITE, "write", 1U << IBV_QPT_RC | 1U << IBV_QPT_UC, "rc or uc", IBV_WR_RDMA_WRITE,
     ""},
    {IBV_WR_RDMA_WRITE_WITH_IMM, "write_imm", 1U << IBV_QPT_RC | 1U << IBV_QPT_UC, "rc or uc",
     IBV_WR_RDMA_WRITE, "write"},
    {IBV_WR_RDMA_READ, "read", 1U << IBV_QPT_RC, "rc", IBV_WR_RDMA_READ, ""},
    {IBV_WR_ATOMIC_CMP_AND_SWP, "cmp_swap", 1U << IBV_QPT_RC, "rc", IBV_WR_ATOMIC_CMP_AND_SWP, ""},
    {IBV_WR_ATOMIC_FETCH_AND_ADD, "fetch_add", 1U << IBV_QPT_RC, "rc", IBV_WR_ATOMIC_FETCH_AND_ADD,
     ""},
};

/* The device's flags follow from its verbs and ports. */
static void kind_finish(struct profile_kind *k)
{
    if (!(k->is.opcodes & (1U << IBV_WR_ATOMIC_CMP_AND_SWP | 1U << IBV_WR_ATOMIC_FETCH_AND_ADD)))
        k->is.attr.atomic_cap = IBV_ATOMIC_NONE;
    if (!(k->is.qp_types & 1U << IBV_QPT_UD))
        k->is.attr.max_ah = 0;
    if (k->is.attr.max_srq == 0)
        k->is.attr.max_srq_wr = k->is.attr.max_srq_sge = 0;
}

static int kind_check(const struct profile *p, struct profile_kind *k, struct fault *why)
{
    const struct profile_section *s = &k->section;
    int line = profile_line(s, "opcodes", "qp_types");

    if (k->port.attr.active_mtu > k->port.attr.max_mtu)
        return profile_refuse(p, s, profile_line(s, "active_mtu", "max_mtu"), why,
                              "active_mtu %d is above max_mtu %d", 128 << k->port.attr.active_mtu,
                              128 << k->port.attr.max_mtu);
    for (size_t i = 0; i < sizeof(needs) / sizeof(*needs); i++) {
        const struct opcode_need *n = &needs[i];

        if (!(k->is.opcodes & 1U << n->opcode))
            continue;
        if (!(k->is.qp_types & n->qp_types))
            return profile_refuse(p, s, line, why,
                                  "%s is an opcode of qp_types %s, which the kind does not have",
                                  n->name, n->qp_words);
        if (!(k->is.opcodes & 1U << n->before))
            return profile_refuse(p, s, line, why, "opcodes has %s without %s", n->name,
                                  n->before_name);
    }
    if (k->is.qp_types & 1U << IBV_QPT_UD && !(k->is.opcodes & 1U << IBV_WR_SEND))
        return profile_refuse(p, s, line, why,
                              "qp_types has ud, and opcodes has no send, the only one that ud has");
    kind_finish(k);
    return 0;
}

/* --- devices ---------------------------------------------------------------------------------- */

static const struct profile_kind *kind_find(const struct profile *p, const char *name)
{
    for (int i = 0; i < p->kind_count; i++)
        if (strcmp(p->kinds[i].section.name, name) == 0)
            return &p->kinds[i];
    return NULL;
}

static bool gid_is_mapped(const union ibv_gid *gid)
{
    return gid->global.subnet_prefix == 0 && gid->raw[8] == 0 && gid->raw[9] == 0 &&
           gid->raw[10] == 0xff && gid->raw[11] == 0xff;
}

/* Keys that a device of its kind cannot have. */
static int keys_check(const struct profile *p, const struct profile_device *d, struct fault *why)
{
    static const char *const second[] = {"gids2", "lid2", "sm_lid2", "netdev2"};
    static const char *const ethernet[] = {"gid_types", "netdev", "netdev2"};
    static const char *const infiniband[] = {"lid", "lid2", "sm_lid", "sm_lid2"};
    bool is_ethernet = d->kind->port.attr.link_layer == IBV_LINK_LAYER_ETHERNET;
    const struct profile_section *s = &d->section;

    for (int i = 0; i < 4; i++)
        if (d->kind->is.attr.phys_port_cnt < 2 && profile_key_line(s, second[i]))
            return profile_refuse(p, s, profile_line(s, second[i], NULL), why,
                                  "%s is for port 2, and kind %s has one port", second[i],
                                  d->kind_name);
    for (int i = 0; i < 3; i++)
        if (!is_ethernet && profile_key_line(s, ethernet[i]))
            return profile_refuse(p, s, profile_line(s, ethernet[i], NULL), why,
                                  "%s is for Ethernet, and kind %s is InfiniBand", ethernet[i],
                                  d->kind_name);
    for (int i = 0; i < 4; i++)
        if (is_ethernet && profile_key_line(s, infiniband[i]))
            return profile_refuse(p, s, profile_line(s, infiniband[i], NULL), why,
                                  "%s is for InfiniBand, and kind %s is Ethernet", infiniband[i],
                                  d->kind_name);
    for (int i = 0; !is_ethernet && i < FABRIC_PORTS_MOST; i++)
        for (int j = 0; j < d->ports[i].address_count; j++)
            if (gid_is_mapped(&d->ports[i].addresses[j]))
                return profile_refuse(
                    p, s, profile_line(s, i ? "gids2" : "gids", NULL), why,
                    "an address of IPv4 is for Ethernet, and kind %s is InfiniBand", d->kind_name);
    return 0;
}

static int device_check(const struct profile *p, struct profile_device *d, struct fault *why)
{
    const struct profile_section *s = &d->section;

    if (!d->kind_name[0])
        return profile_refuse(p, s, s->line, why, "kind is missing, the name of a [kind NAME]");
    d->kind = kind_find(p, d->kind_name);
    if (!d->kind)
        return profile_refuse(p, s, profile_line(s, "kind", NULL), why,
                              "kind = %s: there is no [kind %s]", d->kind_name, d->kind_name);
    return keys_check(p, d, why);
}

/* The first LID that no port has yet. */
static uint16_t lid_free(const struct profile *p)
{
    uint16_t lid = 1;

    for (int i = 0; i < p->device_count && lid < LIDS_MOST; i++)
        for (int j = 0; j < FABRIC_PORTS_MOST; j++)
            if (p->devices[i].ports[j].lid == lid) {
                lid++;
                i = -1;
                break;
            }
    return lid;
}

/* What a subnet manager would do. */
static void subnet_finish(struct profile *p)
{
    for (int i = 0; i < p->device_count; i++) {
        struct profile_device *d = &p->devices[i];

        if (d->kind->port.attr.link_layer != IBV_LINK_LAYER_INFINIBAND)
            continue;
        for (int j = 0; j < d->kind->is.attr.phys_port_cnt; j++) {
            struct profile_port *port = &d->ports[j];

            if (port->address_count == 0) {
                port->addresses[0].global.subnet_prefix = htobe64(link_local);
                port->addresses[0].global.interface_id = htobe64(d->node_guid + (uint64_t)j);
                port->address_count = 1;
            }
            if (port->lid == 0)
                port->lid = lid_free(p);
            if (port->sm_lid == 0)
                port->sm_lid = 1;
        }
    }
}

int profile_check(struct profile *p, struct fault *why)
{
    int rc = 0;

    if (p->device_count == 0)
        return fault_set(why, ML_ERR_ARGUMENT, "%s: there is no [device HOST/NAME]", p->path);
    for (int i = 0; !rc && i < p->kind_count; i++)
        rc = kind_check(p, &p->kinds[i], why);
    for (int i = 0; !rc && i < p->device_count; i++)
        rc = device_check(p, &p->devices[i], why);
    if (rc)
        return rc;
    subnet_finish(p);
    return profile_wiring_check(p, why);
}

/* SPDX-License-Identifier: MIT */
#include "rdma/verbs/rail_fit.h"

#include <string.h>

int rail_fit_mtu(const struct port *p, int bytes, uint8_t *out, struct fault *why)
{
    enum ibv_mtu mtu = IBV_MTU_256;

    if (!bytes) {
        *out = (uint8_t)p->attr.active_mtu;
        return 0;
    }
    while (mtu < IBV_MTU_4096 && (128 << mtu) < bytes)
        mtu = (enum ibv_mtu)(mtu + 1);
    if (mtu > p->attr.active_mtu)
        return fault_set(why, ML_ERR_ARGUMENT,
                         "%s port %d has an active MTU of %d, so --mtu %d is too much", p->device,
                         p->number, 128 << p->attr.active_mtu, bytes);
    *out = (uint8_t)mtu;
    return 0;
}

static int gids_fit(struct rail_fit *mine, const struct rail_end *other, bool is_low,
                    struct fault *why)
{
    const struct port *p = mine->port;
    struct gid_list ours = {p->gids, p->gid_count, mine->gid_index};
    struct gid_list theirs = {other->gids, other->gid_count, other->gid_index};
    int at, peer_at;
    int score =
        is_low ? gid_choose(ours, theirs, &at, &peer_at) : gid_choose(theirs, ours, &peer_at, &at);

    if (score > 0) {
        mine->gid = p->gids[at];
        mine->peer_gid = other->gids[peer_at];
        return 0;
    }
    if (mine->gid_index >= 0)
        return fault_set(why, ML_ERR_LINK,
                         "%s port %d: GID index %d does not exist, or does not fit the GIDs of "
                         "%s's %s port %d; see `mlaunch-probe`",
                         p->device, p->number, mine->gid_index, mine->peer, other->device,
                         other->port);
    return fault_set(why, ML_ERR_LINK,
                     "%s port %d and %s's %s port %d have no RoCE addresses in common: give their "
                     "network devices IPv4 addresses in one subnet",
                     p->device, p->number, mine->peer, other->device, other->port);
}

static const char *link_layer_name(uint8_t link_layer)
{
    return link_layer == IBV_LINK_LAYER_ETHERNET ? "Ethernet" : "InfiniBand";
}

static int ends_fit(struct rail_fit *mine, enum queue_pair_kind kind, const struct rail_end *other,
                    bool is_low, struct fault *why)
{
    bool is_reliable = kind == QUEUE_PAIR_RC;
    const struct port *p = mine->port;

    if (other->gid_count < 0 || other->gid_count > GID_MOST)
        return fault_set(why, ML_ERR_REFUSED, "the description that %s sent of its %s is damaged",
                         mine->peer, other->device);
    if (other->link_layer != p->attr.link_layer)
        return fault_set(why, ML_ERR_LINK,
                         "%s port %d is %s, and %s's %s port %d is %s: the hostfile's wiring can't "
                         "be right",
                         p->device, p->number, link_layer_name(p->attr.link_layer), mine->peer,
                         other->device, other->port, link_layer_name(other->link_layer));
    if (other->pair.kind != (uint8_t)kind)
        return fault_set(why, ML_ERR_LINK,
                         "%s port %d offers %s, but %s's %s port %d %s: --qp uc, if both have them",
                         p->device, p->number,
                         is_reliable ? "reliable connections (RC)"
                                     : "only unreliable connections (UC)",
                         mine->peer, other->device, other->port,
                         is_reliable ? "only unreliable ones (UC)" : "reliable ones (RC)");
    if (p->attr.link_layer == IBV_LINK_LAYER_ETHERNET)
        return gids_fit(mine, other, is_low, why);
    return 0;
}

struct explain_place rail_fit_place(const struct rail_fit *mine)
{
    return (struct explain_place){.device = mine->port ? mine->port->device : NULL,
                                  .port = mine->port ? mine->port->number : 0,
                                  .gid = gid_is_zero(&mine->gid) ? NULL : &mine->gid,
                                  .peer_gid = gid_is_zero(&mine->peer_gid) ? NULL : &mine->peer_gid,
                                  .peer = mine->peer};
}

int rail_fit_near(const struct port *p, const char *list)
{
    size_t length = strlen(p->device);

    for (; list; list = strchr(list, ',') ? strchr(list, ',') + 1 : NULL)
        if (strncmp(list, p->device, length) == 0 && (!list[length] || list[length] == ','))
            return 1;
    return 0;
}

void rail_fit_publish(const struct rail_fit *mine, const struct queue_pair *q,
                      const struct ibv_mr *memory, struct rail_end *out)
{
    const struct port *p = mine->port;

    memset(out, 0, sizeof(*out));
    out->pair = (struct queue_pair_end){.number = q->qp->qp_num,
                                        .psn = q->psn,
                                        .lid = p->attr.lid,
                                        .mtu = mine->mtu,
                                        .kind = (uint8_t)q->kind,
                                        .reads = q->reads_in};
    out->gid_index = mine->gid_index;
    out->link_layer = p->attr.link_layer;
    out->is_near = mine->near != 0;
    out->gid_count = p->gid_count;
    memcpy(out->gids, p->gids, sizeof(out->gids));
    memcpy(out->device, p->device, sizeof(out->device));
    out->port = p->number;
    out->address = memory ? (uintptr_t)memory->addr : 0;
    out->key = memory ? memory->rkey : 0;
}

int rail_fit_connect(struct rail_fit *mine, struct queue_pair *q, const struct rail_end *other,
                     bool is_low, struct fault *why)
{
    struct queue_pair_end end = other->pair;
    struct explain_place at;
    int rc = ends_fit(mine, q->kind, other, is_low, why);

    if (rc)
        return rc;
    end.gid = mine->peer_gid;
    if (mine->mtu < end.mtu)
        end.mtu = mine->mtu;
    if (end.reads < q->reads_out)
        q->reads_out = end.reads ? end.reads : 1;
    mine->address = other->address;
    mine->key = other->key;
    mine->near += other->is_near != 0;
    at = rail_fit_place(mine);
    return queue_pair_connect(q, mine->port, &mine->gid, &end, &at, why);
}

/* SPDX-License-Identifier: MIT */
#include "rdma/rail_fit.h"

int rail_fit_mtu(struct rail *r, int bytes, struct fault *why)
{
    enum ibv_mtu mtu = IBV_MTU_256;

    r->mtu = (uint8_t)r->port->attr.active_mtu;
    if (!bytes)
        return 0;
    while (mtu < IBV_MTU_4096 && (128 << mtu) < bytes)
        mtu = (enum ibv_mtu)(mtu + 1);
    if (mtu > r->port->attr.active_mtu)
        return fault_set(why, ML_ERR_ARGUMENT,
                         "%s port %d has an active MTU of %d, so --mtu %d is too much",
                         r->port->device, r->port->number, 128 << r->port->attr.active_mtu, bytes);
    r->mtu = (uint8_t)mtu;
    return 0;
}

/* Both ends' addresses, the same choice on both. */
static int gids_fit(struct rail *r, const struct rail_end *other, bool is_low, struct fault *why)
{
    struct gid_list mine = {r->port->gids, r->port->gid_count, r->gid_index};
    struct gid_list theirs = {other->gids, other->gid_count, other->gid_index};
    int at, peer_at;
    bool found =
        is_low ? gid_choose(mine, theirs, &at, &peer_at) : gid_choose(theirs, mine, &peer_at, &at);

    if (found) {
        r->gid = r->port->gids[at];
        r->peer_gid = other->gids[peer_at];
        return 0;
    }
    if (r->gid_index >= 0)
        return fault_set(why, ML_ERR_LINK,
                         "%s port %d: GID index %d and those of %s's %s port %d don't fit "
                         "together, or there is none of that index; see `mlaunch-probe`",
                         r->port->device, r->port->number, r->gid_index, r->peer, other->device,
                         other->port);
    return fault_set(why, ML_ERR_LINK,
                     "%s port %d and %s's %s port %d have no RoCE addresses in common: give their "
                     "network devices IPv4 addresses in one subnet",
                     r->port->device, r->port->number, r->peer, other->device, other->port);
}

static const char *link_word(uint8_t link_layer)
{
    return link_layer == IBV_LINK_LAYER_ETHERNET ? "Ethernet" : "InfiniBand";
}

int rail_fit(struct rail *r, const struct rail_end *other, bool is_low, struct fault *why)
{
    bool is_reliable = r->pair.kind == QUEUE_PAIR_RC;

    if (other->gid_count < 0 || other->gid_count > GID_MOST)
        return fault_set(why, ML_ERR_REFUSED, "what %s tells of its %s is damaged", r->peer,
                         other->device);
    if (other->link_layer != r->port->attr.link_layer)
        return fault_set(why, ML_ERR_LINK,
                         "%s port %d is %s, and %s's %s port %d is %s: the hostfile's wiring can't "
                         "be right",
                         r->port->device, r->port->number, link_word(r->port->attr.link_layer),
                         r->peer, other->device, other->port, link_word(other->link_layer));
    if (other->pair.kind != (uint8_t)r->pair.kind)
        return fault_set(why, ML_ERR_LINK,
                         "%s port %d offers %s, but %s's %s port %d %s: --qp uc, if both have them",
                         r->port->device, r->port->number,
                         is_reliable ? "reliable connections (RC)"
                                     : "only unreliable connections (UC)",
                         r->peer, other->device, other->port,
                         is_reliable ? "only unreliable ones (UC)" : "reliable ones (RC)");
    if (r->port->attr.link_layer == IBV_LINK_LAYER_ETHERNET)
        return gids_fit(r, other, is_low, why);
    return 0;
}

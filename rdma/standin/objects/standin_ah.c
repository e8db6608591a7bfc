/* SPDX-License-Identifier: MIT */
#include "rdma/standin/objects/standin_ah.h"

#include "rdma/standin/objects/standin_memory.h"

#include <errno.h>
#include <string.h>

enum { HOPS = 64 };

int standin_ah_check(const struct standin_context *c, const struct ibv_ah_attr *ah, const char *who)
{
    const struct fabric_port *port;

    if (ah->port_num < 1 || ah->port_num > c->device.attr.phys_port_cnt) {
        standin_break(RULE_QP_PORT, c, who, "an address by port %u, of 1 to %u", ah->port_num,
                      c->device.attr.phys_port_cnt);
        return EINVAL;
    }
    port = &c->device.ports[ah->port_num - 1];
    if (!ah->is_global && port->attr.link_layer == IBV_LINK_LAYER_ETHERNET) {
        standin_break(RULE_QP_GLOBAL, c, who, "an address with is_global = 0 on port %u",
                      ah->port_num);
        return EINVAL;
    }
    if (ah->is_global && (ah->grh.sgid_index >= FABRIC_GIDS_MOST ||
                          fabric_gid_is_zero(&port->gids[ah->grh.sgid_index]))) {
        standin_break(RULE_QP_GID, c, who, "sgid_index %u on port %u, where there is no GID",
                      ah->grh.sgid_index, ah->port_num);
        return EINVAL;
    }
    return 0;
}

struct ibv_ah *ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
    struct standin_context *c = standin_context(pd->context);
    struct standin_ah *ah = NULL;
    int err = 0;

    standin_lock(c);
    if (!standin_lives(c, &standin_pd(pd)->object, "ibv_create_ah"))
        err = EINVAL;
    if (!err)
        err = standin_ah_check(c, attr, "address handle");
    if (!err) {
        ah = standin_object_create(c, STANDIN_AH, sizeof(*ah), offsetof(struct standin_ah, object),
                                   c->device.attr.max_ah);
        err = ah ? 0 : errno;
    }
    if (ah) {
        ah->verbs.context = pd->context;
        ah->verbs.pd = pd;
        ah->attr = *attr;
        standin_pd(pd)->users++;
    }
    standin_unlock(c);
    errno = err ? err : errno;
    return ah ? &ah->verbs : NULL;
}

int ibv_destroy_ah(struct ibv_ah *verbs)
{
    struct standin_context *c = standin_context(verbs->context);
    struct standin_ah *ah = (struct standin_ah *)verbs;
    int err = 0;

    standin_lock(c);
    if (!standin_lives(c, &ah->object, "ibv_destroy_ah")) {
        err = EINVAL;
    } else {
        standin_pd(verbs->pd)->users--;
        standin_object_destroy(c, &ah->object);
    }
    standin_unlock(c);
    return err;
}

/* The index of the port's GID that a datagram was sent to; -1: it has no such GID. */
static int gid_index(const struct fabric_port *port, const unsigned char raw[16])
{
    for (int i = FABRIC_GIDS_MOST - 1; i >= 0; i--)
        if (memcmp(port->gids[i].raw, raw, 16) == 0)
            return i;
    return -1;
}

int ibv_init_ah_from_wc(struct ibv_context *context, uint8_t number, struct ibv_wc *wc,
                        struct ibv_grh *grh, struct ibv_ah_attr *attr)
{
    static const unsigned char mapped[12] = {[10] = 0xff, [11] = 0xff};
    const struct standin_context *c = standin_context(context);
    const unsigned char *header = (unsigned char *)grh;
    unsigned char from[16], to[16];
    int index;

    *attr = (struct ibv_ah_attr){.dlid = wc->slid, .sl = wc->sl, .port_num = number};
    if (!(wc->wc_flags & IBV_WC_GRH))
        return 0;
    if (number < 1 || number > c->device.attr.phys_port_cnt) {
        errno = EINVAL;
        return -1;
    }
    if (header[0] >> 4 == 6) {
        memcpy(from, header + 8, sizeof(from));
        memcpy(to, header + 24, sizeof(to));
    } else { /* IPv4, in the last 20 bytes */
        memcpy(from, mapped, sizeof(mapped));
        memcpy(from + 12, header + 32, 4);
        memcpy(to, mapped, sizeof(mapped));
        memcpy(to + 12, header + 36, 4);
    }
    index = gid_index(&c->device.ports[number - 1], to);
    if (index < 0) {
        errno = ENOENT;
        return -1;
    }
    attr->is_global = 1;
    memcpy(attr->grh.dgid.raw, from, sizeof(from));
    attr->grh.sgid_index = (uint8_t)index;
    attr->grh.hop_limit = HOPS;
    return 0;
}

struct ibv_ah *ibv_create_ah_from_wc(struct ibv_pd *pd, struct ibv_wc *wc, struct ibv_grh *grh,
                                     uint8_t number)
{
    struct ibv_ah_attr attr;

    return ibv_init_ah_from_wc(pd->context, number, wc, grh, &attr) ? NULL
                                                                    : ibv_create_ah(pd, &attr);
}

/* SPDX-License-Identifier: MIT */
#include "rdma/verbs/port.h"

#include "rdma/verbs/device.h"

#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TABLE_MOST = 256 };

static uint8_t bits_of(const uint8_t *mask, int size)
{
    int bits = 0;

    for (int i = 0; i < size; i++)
        bits += __builtin_popcount(mask[i]);
    return (uint8_t)bits;
}

/* The length of the subnet's prefix if address `a` of the system is GID `g`, else 0. */
static uint8_t prefix_of(const struct ifaddrs *a, const struct gid *g)
{
    if (!a->ifa_addr || !a->ifa_netmask)
        return 0;
    if (a->ifa_addr->sa_family == AF_INET && gid_is_ipv4(g)) {
        const struct sockaddr_in *in = (const void *)a->ifa_addr;
        const struct sockaddr_in *mask = (const void *)a->ifa_netmask;

        if (memcmp(&in->sin_addr, g->raw + 12, 4) == 0)
            return bits_of((const uint8_t *)&mask->sin_addr, 4);
    } else if (a->ifa_addr->sa_family == AF_INET6) {
        const struct sockaddr_in6 *in = (const void *)a->ifa_addr;
        const struct sockaddr_in6 *mask = (const void *)a->ifa_netmask;

        if (memcmp(&in->sin6_addr, g->raw, 16) == 0)
            return bits_of((const uint8_t *)&mask->sin6_addr, 16);
    }
    return 0;
}

static void prefixes_find(struct gid *gids, int count)
{
    struct ifaddrs *list;

    if (getifaddrs(&list))
        return;
    for (const struct ifaddrs *a = list; a; a = a->ifa_next)
        for (int i = 0; i < count; i++)
            if (!gids[i].prefix)
                gids[i].prefix = prefix_of(a, &gids[i]);
    freeifaddrs(list);
}

int port_read_gids(struct ibv_context *context, int number, struct gid *out, int most)
{
    static const uint8_t types[] = {[IBV_GID_TYPE_IB] = GID_INFINIBAND,
                                    [IBV_GID_TYPE_ROCE_V1] = GID_ROCE_V1,
                                    [IBV_GID_TYPE_ROCE_V2] = GID_ROCE_V2};
    struct ibv_gid_entry *table = calloc(TABLE_MOST, sizeof(*table));
    int count = 0;
    ssize_t found;

    if (!table)
        return -1;
    found = ibv_query_gid_table(context, table, TABLE_MOST, 0);
    for (ssize_t i = 0; i < found && count < most; i++) {
        struct gid g = {.index = (uint16_t)table[i].gid_index};

        if (table[i].port_num != (uint32_t)number || table[i].gid_type > IBV_GID_TYPE_ROCE_V2)
            continue;
        g.type = types[table[i].gid_type];
        memcpy(g.raw, table[i].gid.raw, sizeof(g.raw));
        if (!gid_is_zero(&g))
            out[count++] = g;
    }
    free(table);
    if (found < 0) {
        errno = (int)-found;
        return -1;
    }
    prefixes_find(out, count);
    return count;
}

static int port_refuse(const struct port *p, struct fault *why)
{
    return fault_set(
        why, ML_ERR_LINK,
        "%s port %d is %s: check its cable and its network device (rdma link, ip link)", p->device,
        p->number, ibv_port_state_str(p->attr.state));
}

/* Uses port `number`, or if that is 0 the first active one. If none is active, the first one is
 * named in the refusal. */
static int port_choose(struct port *p, int number, struct fault *why)
{
    struct explain_place at = {.device = p->device, .port = number};
    struct ibv_device_attr device;
    int err = ibv_query_device(p->context, &device);

    if (err)
        return explain(why, EXPLAIN_PORT, err, &at);
    if (number > device.phys_port_cnt)
        return fault_set(why, ML_ERR_DEVICE, "%s has no port %d, only 1 to %d", p->device, number,
                         device.phys_port_cnt);
    for (int i = number ? number : 1; i <= (number ? number : device.phys_port_cnt); i++) {
        struct ibv_port_attr attr;

        at.port = i;
        err = ibv_query_port(p->context, (uint8_t)i, &attr);
        if (err)
            return explain(why, EXPLAIN_PORT, err, &at);
        if (p->number == 0 || attr.state == IBV_PORT_ACTIVE) {
            p->number = i;
            p->attr = attr;
        }
        if (attr.state == IBV_PORT_ACTIVE)
            return 0;
    }
    return port_refuse(p, why);
}

int port_open(struct port **out, const char *name, int number, struct fault *why)
{
    struct port *p = calloc(1, sizeof(*p));
    int named, rc;

    if (!p)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    rc = port_name_split(name, p->device, &named)
             ? device_open(&p->context, p->device, why)
             : fault_set(why, ML_ERR_ARGUMENT,
                         "'%.80s' is not an RDMA device's name, or one with its port (mlx5_0:2)",
                         name);
    if (!rc)
        rc = port_choose(p, named ? named : number, why);
    if (!rc) {
        struct explain_place at = {.device = p->device, .port = p->number};

        p->gid_count = port_read_gids(p->context, p->number, p->gids, GID_MOST);
        if (p->gid_count < 0)
            rc = explain(why, EXPLAIN_GIDS, errno, &at);
    }
    if (rc) {
        port_close(p);
        return rc;
    }
    *out = p;
    return 0;
}

void port_close(struct port *p)
{
    if (!p)
        return;
    device_close(p->context);
    free(p);
}

void port_unblock(int fd)
{
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

void port_poll(const struct port *p, const char *peer, struct fault *failed)
{
    struct ibv_async_event event;

    while (ibv_get_async_event(p->context, &event) == 0) {
        bool is_port =
            event.event_type == IBV_EVENT_PORT_ERR && event.element.port_num == p->number;
        bool is_device = event.event_type == IBV_EVENT_DEVICE_FATAL;
        const char *what = is_port
                               ? "has gone down: look at its cable and its network device (ip link)"
                               : "has failed: the device is lost, see the kernel's log";

        ibv_ack_async_event(&event);
        if (failed->code || (!is_port && !is_device))
            continue;
        if (peer)
            fault_set(failed, ML_ERR_DEVICE, "%s port %d, the link to %s, %s", p->device, p->number,
                      peer, what);
        else
            fault_set(failed, ML_ERR_DEVICE, "%s port %d %s", p->device, p->number, what);
    }
}

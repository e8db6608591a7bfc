/* SPDX-License-Identifier: MIT */
/* verify_device.c: whether RDMA devices and their ports are in order, by themselves and beside
 * those of the same name on the other hosts. */
#include "launcher/tools/verify/verify_groups.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is left of a PCIe link beside the headers of packets of 256 bytes, about. */
static const double pcie_payload = 0.9;

/* The largest rate and MTU of the ports of one name and number. */
struct port_peers {
    double gigabits;
    int mtu;
    const char *host_of_rate, *host_of_mtu;
    bool is_active_elsewhere;
};

static void port_peers_find(const struct verify *v, const char *device, int number, int except,
                            struct port_peers *out)
{
    *out = (struct port_peers){0};
    for (int i = 0; i < v->c.hosts->count; i++) {
        const struct host_device *d = host_facts_device(&v->survey.hosts[i], device);
        const struct host_port *p = d ? host_facts_port(d, number) : NULL;

        if (!p || i == except)
            continue;
        out->is_active_elsewhere = out->is_active_elsewhere || p->is_active;
        if (p->is_active && p->gigabits > out->gigabits) {
            out->gigabits = p->gigabits;
            out->host_of_rate = verify_name(v, i);
        }
        if (p->is_active && p->mtu > out->mtu) {
            out->mtu = p->mtu;
            out->host_of_mtu = verify_name(v, i);
        }
    }
}

static bool has_roce_v2(const struct host_port *p)
{
    bool is_typed = false;

    for (int i = 0; i < p->gid_count; i++) {
        is_typed = is_typed || p->gids[i].type[0];
        if (strcmp(p->gids[i].type, "RoCE v2") == 0)
            return true;
    }
    return !is_typed && p->gid_count > 0; /* an old kernel names no types */
}

static void down_check(struct verify *v, int host, const struct host_device *d,
                       const struct host_port *p, const struct port_peers *peers)
{
    verify_add(v, peers->is_active_elsewhere ? FINDING_PORT : FINDING_SPARE_PORT, host,
               "%s port %d is %s (%s)%s", d->name, p->number,
               p->state[0] ? p->state : "in no state", p->physical[0] ? p->physical : "unknown",
               peers->is_active_elsewhere ? ", and active elsewhere" : "");
}

static void port_check(struct verify *v, int host, const struct host_device *d,
                       const struct host_port *p)
{
    struct port_peers peers;

    port_peers_find(v, d->name, p->number, host, &peers);
    if (!p->is_active) {
        down_check(v, host, d, p, &peers);
        return;
    }
    if (p->gigabits > 0 && p->gigabits < peers.gigabits)
        verify_add(v, FINDING_RATE, host, "%s port %d has %s, and on %s %.0f Gb/sec", d->name,
                   p->number, p->rate, peers.host_of_rate, peers.gigabits);
    if (p->mtu > 0 && p->mtu < peers.mtu)
        verify_add(v, FINDING_MTU, host,
                   "%s port %d's interface %s has an MTU of %d, and on %s of %d", d->name,
                   p->number, p->interface, p->mtu, peers.host_of_mtu, peers.mtu);
    if (p->bond_links_up < p->bond_links)
        verify_add(v, FINDING_BOND, host, "%s port %d's bond %s has %d of its %d links up", d->name,
                   p->number, p->bond, p->bond_links_up, p->bond_links);
    if (p->is_ethernet && !has_roce_v2(p))
        verify_add(v, FINDING_GID, host, "%s port %d has no RoCE v2 address (GID)", d->name,
                   p->number);
    if (!p->is_ethernet && p->pkey[0] && strcmp(p->pkey, "0xffff") != 0 &&
        strcmp(p->pkey, "0x7fff") != 0)
        verify_add(v, FINDING_PKEY, host,
                   "%s port %d's first partition is %s, not the default 0xffff", d->name, p->number,
                   p->pkey);
}

/* Gb/s that the device's PCIe link carries, headers of its packets among them; 0: unknown. */
static double pcie_gigabits(const struct host_device *d)
{
    double transfers = strtod(d->speed, NULL); /* GT/s of a lane */

    return d->width * transfers * (transfers < 8 ? 8.0 / 10 : 128.0 / 130);
}

/* Gb/s of data: InfiniBand states those of the wire, of which older rates spend a fifth on their
 * code. */
static double port_gigabits(const struct host_port *p)
{
    bool is_old = strstr(p->rate, "SDR") || strstr(p->rate, "DDR") || strstr(p->rate, "QDR");

    return p->gigabits * (is_old && !p->is_ethernet ? 8.0 / 10 : 1);
}

double verify_device_rate(const struct host_facts *h, const char *port)
{
    int size = (int)strcspn(port, ":"), number = port[size] ? atoi(port + size + 1) : 1;
    char name[HOST_FACT_NAME];
    const struct host_device *d;
    const struct host_port *p;
    double pcie, rate;

    snprintf(name, sizeof(name), "%.*s", size, port);
    d = host_facts_device(h, name);
    p = d ? host_facts_port(d, number) : NULL;
    if (!p)
        return 0;
    pcie = pcie_payload * pcie_gigabits(d);
    rate = port_gigabits(p);
    return (pcie > 0 && pcie < rate ? pcie : rate) / 8;
}

/* A link that is as fast as the device allows may still be too slow for its port. */
static void pcie_check(struct verify *v, int host, const struct host_device *d)
{
    double carried = pcie_gigabits(d);

    if (strtod(d->speed, NULL) < strtod(d->speed_most, NULL) || d->width < d->width_most) {
        verify_add(v, FINDING_PCIE, host, "%s's PCIe link has %s x%d of %s x%d", d->name, d->speed,
                   d->width, d->speed_most, d->width_most);
        return;
    }
    for (int i = 0; i < d->port_count && carried > 0; i++) {
        double rate = d->ports[i].is_active ? port_gigabits(&d->ports[i]) : 0;

        if (carried < 0.99 * rate)
            verify_add(v, FINDING_PCIE, host,
                       "%s's PCIe link, %s x%d, carries %.0f Gb/s, and its port %d %.0f Gb/s",
                       d->name, d->speed, d->width, carried, d->ports[i].number, rate);
    }
}

static void device_check(struct verify *v, int host, const struct host_device *d)
{
    const struct host_facts *h = &v->survey.hosts[host];

    if (d->error[0])
        verify_add(v, FINDING_ACCESS, host, "%s: %s", d->name, d->error);
    pcie_check(v, host, d);
    if (d->numa_node < 0 && d->speed[0] && atoi(h->text[HOST_NUMA_NODES]) > 1)
        verify_add(v, FINDING_NUMA, host, "%s's NUMA node is unknown", d->name);
    for (int i = 0; i < d->port_count; i++)
        port_check(v, host, d, &d->ports[i]);
}

/* A note a host is enough. */
static void iommu_check(struct verify *v, int host)
{
    const struct host_facts *h = &v->survey.hosts[host];
    int count = 0;
    const struct host_device *first = NULL;

    for (int i = 0; i < h->device_count; i++) {
        if (strncmp(h->devices[i].iommu, "DMA", 3) != 0)
            continue;
        first = first ? first : &h->devices[i];
        count++;
    }
    if (first)
        verify_add(v, FINDING_IOMMU, host,
                   "the IOMMU translates what %d of its %d RDMA devices, %s first, read and write "
                   "(%s), which costs time",
                   count, h->device_count, first->name, first->iommu);
}

static int driver_count(const struct host_facts *h, const char *driver)
{
    int count = 0;

    for (int i = 0; i < h->device_count; i++)
        count += strcmp(h->devices[i].driver, driver) == 0;
    return count;
}

/* Whether hosts have fewer devices of one driver than the one that has most. */
static void driver_check(struct verify *v, const char *driver)
{
    int most = 0, at = 0;

    for (int i = 0; i < v->c.hosts->count; i++) {
        int count = driver_count(&v->survey.hosts[i], driver);

        if (count > most) {
            most = count;
            at = i;
        }
    }
    for (int i = 0; i < v->c.hosts->count; i++) {
        int count = driver_count(&v->survey.hosts[i], driver);

        if (v->survey.hosts[i].is_known && count < most)
            verify_add(v, FINDING_DEVICES, i, "it has %d RDMA device%s of %s, and %s has %d", count,
                       count == 1 ? "" : "s", *driver ? driver : "an unknown driver",
                       verify_name(v, at), most);
    }
}

/* Each driver once. */
static void drivers_check(struct verify *v)
{
    json_t *seen = json_object();

    for (int i = 0; i < v->c.hosts->count; i++) {
        for (int k = 0; k < v->survey.hosts[i].device_count; k++) {
            const char *driver = v->survey.hosts[i].devices[k].driver;

            if (!json_object_get(seen, driver))
                driver_check(v, driver);
            json_object_set_new(seen, driver, json_true());
        }
    }
    json_decref(seen);
}

/* The same GUID on two machines; containers of one machine share its devices. */
static void guids_check(struct verify *v)
{
    json_t *seen = json_object();

    for (int i = 0; i < v->c.hosts->count; i++) {
        for (int k = 0; k < v->survey.hosts[i].device_count; k++) {
            const struct host_device *d = &v->survey.hosts[i].devices[k];
            const json_t *before = json_object_get(seen, d->guid);
            int other = (int)json_integer_value(before);

            if (strspn(d->guid, "0:") == strlen(d->guid))
                continue;
            if (before && other != i &&
                strcmp(v->survey.hosts[i].boot, v->survey.hosts[other].boot) != 0)
                finding_add(&v->findings, FINDING_GUID, verify_name(v, other), verify_name(v, i),
                            "a device of each, %s on the second, has the GUID %s", d->name,
                            d->guid);
            json_object_set_new(seen, d->guid, json_integer(i));
        }
    }
    json_decref(seen);
}

/* The same GID on two machines, as of two interfaces with one IP address; `seen` has the host of
 * each before. One a device is enough. */
static void gids_check(struct verify *v, int host, const struct host_device *d, json_t *seen)
{
    bool is_found = false;

    for (int i = 0; i < d->port_count; i++) {
        for (int k = 0; k < d->ports[i].gid_count; k++) {
            const char *gid = d->ports[i].gids[k].text;
            const json_t *before = json_object_get(seen, gid);
            int other = (int)json_integer_value(before);

            if (before && other != host && !is_found &&
                strcmp(v->survey.hosts[host].boot, v->survey.hosts[other].boot) != 0) {
                finding_add(&v->findings, FINDING_SAME_GID, verify_name(v, other),
                            verify_name(v, host),
                            "a port of each, %s port %d on the second, has "
                            "the GID %s",
                            d->name, d->ports[i].number, gid);
                is_found = true;
            }
            json_object_set_new(seen, gid, json_integer(host));
        }
    }
}

void verify_device(struct verify *v)
{
    json_t *gids = json_object();

    for (int i = 0; i < v->c.hosts->count; i++) {
        const struct host_facts *h = &v->survey.hosts[i];

        if (h->device_count == 0)
            continue;
        if (!h->text[HOST_VERBS][0])
            verify_add(v, FINDING_VERBS, i, "it has RDMA devices, but no libibverbs.so.1");
        if (!host_facts_has_port(h)) { /* a single finding tells all */
            verify_add(v, FINDING_NO_PORT, i, "none of the ports of its %d RDMA device%s is active",
                       h->device_count, h->device_count == 1 ? "" : "s");
            continue;
        }
        for (int k = 0; k < h->device_count; k++)
            device_check(v, i, &h->devices[k]);
        iommu_check(v, i);
    }
    for (int i = 0; i < v->c.hosts->count; i++)
        for (int k = 0; k < v->survey.hosts[i].device_count; k++)
            gids_check(v, i, &v->survey.hosts[i].devices[k], gids);
    json_decref(gids);
    drivers_check(v);
    guids_check(v);
}

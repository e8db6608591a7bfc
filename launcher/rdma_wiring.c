/* SPDX-License-Identifier: MIT */
#include "launcher/rdma_wiring.h"

#include "launcher/host_list.h"

#include <arpa/inet.h>
#include <string.h>

static json_t *device_find(json_t *devices, const char *name)
{
    json_t *device;
    size_t i;

    json_array_foreach(devices, i, device)
    {
        const char *its = json_string_value(json_object_get(device, "name"));

        if (its && strcmp(its, name) == 0)
            return device;
    }
    return NULL;
}

/* An IPv4 GID's subnet, or false. */
static bool subnet_of(const json_t *gid, uint32_t *net, uint32_t *mask)
{
    const char *ip = json_string_value(json_object_get(gid, "ipv4"));
    json_int_t prefix = json_integer_value(json_object_get(gid, "prefix"));
    struct in_addr address;

    if (!ip || prefix < 1 || prefix > 32 || inet_pton(AF_INET, ip, &address) != 1)
        return false;
    *mask = UINT32_MAX << (32 - prefix);
    *net = ntohl(address.s_addr) & *mask;
    return true;
}

static bool devices_meet(const json_t *a, const json_t *b)
{
    json_t *x, *y;
    size_t i, j;
    uint32_t net, mask, other, other_mask;

    json_array_foreach(json_object_get(a, "gids"), i, x)
    {
        if (!subnet_of(x, &net, &mask))
            continue;
        json_array_foreach(json_object_get(b, "gids"), j, y)
        {
            if (subnet_of(y, &other, &other_mask) && other_mask == mask && other == net)
                return true;
        }
    }
    return false;
}

static char **wires(const struct plan *p, int from, int to)
{
    static char *none[] = {NULL};
    const struct host *h = &p->list->hosts[p->hosts[from]];
    int column = p->hosts[to];

    return h->rdma && column < h->rdma_count && h->rdma[column] ? h->rdma[column] : none;
}

/* The first of `to`'s devices towards `from` that `device` shares a subnet with, or NULL. */
static const char *far_end(const json_t *device, json_t *const *devices, const struct plan *p,
                           int from, int to)
{
    for (char **name = wires(p, to, from); *name; name++) {
        const json_t *other = device_find(devices[to], *name);

        if (other && devices_meet(device, other))
            return *name;
    }
    return NULL;
}

/* Where else than to host j that device of host i leads: to any device of host *k. */
static const char *elsewhere(const json_t *device, json_t *const *devices, const struct plan *p,
                             int i, int j, int *k)
{
    for (*k = 0; *k < p->host_count; (*k)++) {
        json_t *other;
        size_t n;

        if (*k == i || *k == j)
            continue;
        json_array_foreach(devices[*k], n, other)
        {
            if (devices_meet(device, other))
                return json_string_value(json_object_get(other, "name"));
        }
    }
    return NULL;
}

int rdma_wiring_check(json_t *const *devices, const struct plan *p, int *host, struct fault *why)
{
    for (int i = 0; i < p->host_count && !p->rdma_device; i++)
        for (int j = 0; j < p->host_count; j++) {
            char **name = i == j ? NULL : wires(p, i, j);

            for (; name && *name; name++) {
                const json_t *device = device_find(devices[i], *name);
                const char *other;
                int k;

                if (!device || far_end(device, devices, p, i, j))
                    continue;
                other = elsewhere(device, devices, p, i, j, &k);
                if (!other)
                    continue;
                *host = i;
                return fault_set(
                    why, ML_ERR_ARGUMENT,
                    "%s says that %s leads to host %s, but by its address it is on one "
                    "cable with %s of host %s: the wiring does not fit the cables",
                    p->list->source, *name, p->list->hosts[p->hosts[j]].name, other,
                    p->list->hosts[p->hosts[k]].name);
            }
        }
    return 0;
}

/* SPDX-License-Identifier: MIT */
/* The GID tables of ports. */
#include "rdma/standin/names/names_say.h"
#include "rdma/standin/objects/standin_context.h"

#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>

static const struct fabric_port *port_of(const struct standin_context *c, uint32_t number)
{
    return number >= 1 && number <= c->device.attr.phys_port_cnt ? &c->device.ports[number - 1]
                                                                 : NULL;
}

int ibv_query_gid(struct ibv_context *context, uint8_t number, int index, union ibv_gid *gid)
{
    struct standin_context *c = standin_context(context);
    const struct fabric_port *port = port_of(c, number);

    if (!port || index < 0 || index >= port->attr.gid_tbl_len)
        return -1;
    standin_lock(c);
    *gid = index < FABRIC_GIDS_MOST ? port->gids[index] : (union ibv_gid){0};
    standin_unlock(c);
    return 0;
}

/* The network device of that GID, whose number only its own host knows; 0: none. */
static uint32_t netdev_of(const struct standin_context *c, uint32_t number, uint32_t index)
{
    char path[IBV_SYSFS_PATH_MAX + 64], name[IF_NAMESIZE + 1] = "";
    FILE *f;

    snprintf(path, sizeof(path), "%s/ports/%u/gid_attrs/ndevs/%u",
             c->verbs.context.device->ibdev_path, number, index);
    f = fopen(path, "re");
    if (!f)
        return 0;
    if (fgets(name, sizeof(name), f))
        name[strcspn(name, "\n")] = '\0';
    fclose(f);
    return if_nametoindex(name);
}

static void entry_fill(struct ibv_gid_entry *out, const struct standin_context *c,
                       const struct fabric_port *port, uint32_t number, uint32_t index)
{
    *out = (struct ibv_gid_entry){.gid = port->gids[index],
                                  .gid_index = index,
                                  .port_num = number,
                                  .gid_type = port->gid_types[index],
                                  .ndev_ifindex = netdev_of(c, number, index)};
}

int _ibv_query_gid_ex(struct ibv_context *context, uint32_t number, uint32_t index,
                      struct ibv_gid_entry *out, uint32_t flags, size_t size)
{
    struct standin_context *c = standin_context(context);
    const struct fabric_port *port = port_of(c, number);
    struct ibv_gid_entry entry;
    int err = ENODATA;

    if (!port || flags || index >= (uint32_t)port->attr.gid_tbl_len)
        return EINVAL;
    standin_lock(c);
    if (index < FABRIC_GIDS_MOST && !fabric_gid_is_zero(&port->gids[index])) {
        entry_fill(&entry, c, port, number, index);
        memcpy(out, &entry, size < sizeof(entry) ? size : sizeof(entry));
        err = 0;
    }
    standin_unlock(c);
    return err;
}

ssize_t _ibv_query_gid_table(struct ibv_context *context, struct ibv_gid_entry *out, size_t most,
                             uint32_t flags, size_t size)
{
    struct standin_context *c = standin_context(context);
    size_t count = 0;

    if (flags || size < sizeof(*out))
        return -EINVAL;
    standin_lock(c);
    for (uint32_t number = 1; number <= c->device.attr.phys_port_cnt; number++)
        for (uint32_t i = 0; i < FABRIC_GIDS_MOST && count < most; i++)
            if (!fabric_gid_is_zero(&port_of(c, number)->gids[i]))
                entry_fill(&out[count++], c, port_of(c, number), number, i);
    standin_unlock(c);
    return (ssize_t)count;
}

int standin_gid_type(struct ibv_context *context, uint8_t number, unsigned index, int *type)
{
    struct standin_context *c = standin_context(context);
    const struct fabric_port *port = port_of(c, number);

    if (!port)
        return EINVAL;
    if (index >= FABRIC_GIDS_MOST || fabric_gid_is_zero(&port->gids[index]))
        return ENODATA;
    *type = port->gid_types[index];
    return 0;
}

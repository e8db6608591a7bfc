/* SPDX-License-Identifier: MIT */
/* port.h: one port of one RDMA device, opened and known to be up. */
#ifndef RDMA_VERBS_PORT_H
#define RDMA_VERBS_PORT_H

#include "common/fault.h"
#include "common/port_name.h"
#include "rdma/verbs/gid.h"

#include <infiniband/verbs.h>

enum { PORT_DEVICE = PORT_NAME_DEVICE };

struct port {
    struct ibv_context *context; /* owned */
    char device[PORT_DEVICE];
    int number; /* from 1, as verbs counts */
    struct ibv_port_attr attr;
    struct gid gids[GID_MOST]; /* those that are set */
    int gid_count;
};

/* `name` may say which port ("mlx5_0:2"); else `number` does; 0: the device's first active one. A port that is not
 * active is refused by name: otherwise it shows up much later, as a queue pair on another rank that never
 * gets an answer. */
int port_open(struct port **out, const char *name, int number, struct fault *why);
void port_close(struct port *p); /* takes NULL */

/* Reads the entries of a port's GID table that are set, at most `most`; returns how many, or -1 and errno. */
int port_read_gids(struct ibv_context *context, int number, struct gid *out, int most);

#endif

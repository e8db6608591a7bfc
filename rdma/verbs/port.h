/* SPDX-License-Identifier: MIT */
/* port.h: one port of one RDMA device, opened and known to be up. */
#ifndef RDMA_VERBS_PORT_H
#define RDMA_VERBS_PORT_H

#include "common/fault.h"
#include "common/text/port_name.h"
#include "rdma/verbs/explain.h"
#include "rdma/verbs/gid.h"

#include <infiniband/verbs.h>

enum { PORT_DEVICE = PORT_NAME_DEVICE };

struct port {
    struct ibv_context *context; /* owned */
    char device[PORT_DEVICE];
    int number; /* from 1, as in verbs */
    struct ibv_port_attr attr;
    struct gid gids[GID_MOST]; /* the entries that are set */
    int gid_count;
};

/* Opens a port. `name` may include its number ("mlx5_0:2"); otherwise `number` is used; 0: the
 * first active port of the device. ML_ERR_LINK if the port is not active: otherwise it would show
 * up much later, as a queue pair on another rank that gets no answer. ML_ERR_DEVICE,
 * ML_ERR_ARGUMENT, ML_ERR_MEMORY. */
int port_open(struct port **out, const char *name, int number, struct fault *why);
void port_close(struct port *p); /* takes NULL */

/* Reads the device's events. If the port has gone down, or the device has failed, sets *failed,
 * unless it has a code already. `peer`: where the port's link leads, for the sentence; or NULL. */
void port_poll(const struct port *p, const char *peer, struct fault *failed);

/* Reads of the descriptor of events do not wait from now on. */
void port_unblock(int fd);

/* Reads the entries of a port's GID table that are set, at most `most` of them. Returns how many,
 * or -1 with errno. */
int port_read_gids(struct ibv_context *context, int number, struct gid *out, int most);

#endif

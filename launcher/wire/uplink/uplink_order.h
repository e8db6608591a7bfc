/* SPDX-License-Identifier: MIT */
/*
 * uplink_order.h: what an agent that srun or --agent-command has started reads from its standard
 * input, in order to call mlaunch: one line of JSON (doc/protocol.md, "Uplink").
 */
#ifndef LAUNCHER_WIRE_UPLINK_UPLINK_ORDER_H
#define LAUNCHER_WIRE_UPLINK_UPLINK_ORDER_H

#include "common/fault.h"
#include "common/net/auth.h"

#include <jansson.h>

struct uplink_order {
    int port, limit_ms, hosts;
    int index; /* the host's, as it is read */
    uint8_t key[AUTH_SECRET];
    char **heads; /* addresses, in the order in which they are tried; ends with NULL */
};

/* The line, to be wiped and freed. `ip` is where mlaunch listens; for a wildcard the line has all
 * addresses of this machine. `nodes` has the hosts that are to read it, as [name, index], and is
 * taken over. ML_ERR_MEMORY. */
int uplink_order_write(char **out, const char *ip, const struct uplink_order *order, json_t *nodes,
                       struct fault *why);

/* `node`: this host's name, which may be NULL if the line is for one host. ML_ERR_REFUSED. */
int uplink_order_read(struct uplink_order *out, int fd, const char *node, struct fault *why);
int uplink_order_parse(struct uplink_order *out, const char *text, size_t size, const char *node,
                       struct fault *why);
void uplink_order_clear(struct uplink_order *o);

#endif

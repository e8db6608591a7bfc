/* SPDX-License-Identifier: MIT */
/*
 * hub_starter.h: with --fanout, has the agents started that are to call the hub: by one srun for
 * many hosts, or by --agent-command for each. What they have to know goes to the standard input of
 * the commands (launcher/wire/uplink/uplink_order.h). Everything happens on the loop it is given.
 */
#ifndef LAUNCHER_WIRE_CHANNEL_HUB_STARTER_H
#define LAUNCHER_WIRE_CHANNEL_HUB_STARTER_H

#include "common/net/auth.h"
#include "launcher/input/hosts/host_list.h"
#include "launcher/wire/channel/channel_config.h"

struct event_base;
struct hub_starter;

/* All that is pointed to must outlive it, but `key`, which is copied. */
struct hub_starter_config {
    const struct host *hosts; /* join_index of each is its index */
    int count;
    const char *ip; /* the hub's; may be a wildcard */
    int port;
    const uint8_t *key;
    int limit_ms; /* for an agent to call */
    struct channel_config channel;
};

/* ML_ERR_MEMORY. */
int hub_starter_open(struct hub_starter **out, struct event_base *base,
                     const struct hub_starter_config *config, struct fault *why);
/* Commands that end without an agent are reported there, until it is NULL. */
void hub_starter_report_to(struct hub_starter *s, struct uplink_hub *hub);
/* The hub waits for that host; it is started if none of its commands still runs for the first
 * time. */
void hub_starter_want(struct hub_starter *s, int index);
void hub_starter_came(struct hub_starter *s,
                      int index); /* it is there: the next time it was lost */
/* Runs the loop for 2 s at most until all commands have ended, and then ends them. Takes NULL. */
void hub_starter_close(struct hub_starter *s);

#endif

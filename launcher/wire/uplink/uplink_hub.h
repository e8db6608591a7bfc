/* SPDX-License-Identifier: MIT */
/*
 * uplink_hub.h: the head's end of all uplinks: which hosts have called, and the channels to their
 * agents. Everything happens on the loop it is given.
 *
 * A host has one uplink for the whole job, and an agent for each channel that is opened to it, one
 * at a time (launcher/wire/channel/uplink_channel.h). A host that is lost may call again.
 */
#ifndef LAUNCHER_WIRE_UPLINK_UPLINK_HUB_H
#define LAUNCHER_WIRE_UPLINK_UPLINK_HUB_H

#include "common/fault.h"
#include "common/net/auth.h"

#include <stdbool.h>
#include <stddef.h>

struct event_base;
struct uplink_hub;

struct uplink_hub_config {
    const char *ip; /* to listen on; may be a wildcard */
    int port;
    int hosts;          /* how many there are in all */
    int first;          /* the first index that is to call: 1 if index 0 is this machine */
    int fanout;         /* how many hosts call one, be it the head or a host; 0: all the head */
    int limit_ms;       /* how long a host is waited for when a channel to it is opened */
    const uint8_t *key; /* copied */
    bool is_started;    /* whoever opens the hub has the hosts call, and nobody else */
};

struct uplink_hub_events {
    /* The host `index` is there, under its own name. */
    void (*on_joined)(int index, const char *name, const char *from, void *arg);
    /* A stranger, or a host that is not wanted, was turned away. */
    void (*on_refused)(const char *text, void *arg);
    /* A channel is wanted to a host that is not there. May be NULL. */
    void (*on_wanted)(int index, void *arg);
    void *arg;
};

/* ML_ERR_SYSTEM: it cannot listen; ML_ERR_ARGUMENT, ML_ERR_MEMORY. */
int uplink_hub_open(struct uplink_hub **out, struct event_base *base,
                    const struct uplink_hub_config *config, const struct uplink_hub_events *events,
                    struct fault *why);
/* Tells all hosts the job's exit status, for which it runs the loop for 2 s at most. All channels
 * have been closed. Takes NULL. */
void uplink_hub_close(struct uplink_hub *hub, int status);

const char *uplink_hub_where(const struct uplink_hub *hub); /* "addr:port" */

/* Called once, from the loop: with why->code 0 an agent is being started at the other end of `fd`,
 * a socket that the function takes over. Else the host has not called in time. */
typedef void uplink_hub_ready_fn(int fd, const struct fault *why, void *arg);

/* Opens a channel to a host's agent, once the host is there. `ready` is not called after
 * uplink_hub_hang_up(), which ends the channel in any state. */
void uplink_hub_reach(struct uplink_hub *hub, int index, uplink_hub_ready_fn *ready, void *arg);
void uplink_hub_hang_up(struct uplink_hub *hub, int index);
/* Ends the wait for a host that is not there: it will not call, for the reason `text`. */
void uplink_hub_give_up(struct uplink_hub *hub, int index, const char *text);
bool uplink_hub_has(const struct uplink_hub *hub, int index); /* the host is there */

/* How the last channel has ended, as far as it is known; or "". */
const char *uplink_hub_reason(const struct uplink_hub *hub, int index);

#endif

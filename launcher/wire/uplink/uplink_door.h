/* SPDX-License-Identifier: MIT */
/*
 * uplink_door.h: the head's listener. Whoever connects proves that it has the key
 * (common/net/auth.h, purpose "join"), and is then handed on. Strangers may not disturb: they are
 * limited in number, time and bytes.
 */
#ifndef LAUNCHER_WIRE_UPLINK_UPLINK_DOOR_H
#define LAUNCHER_WIRE_UPLINK_UPLINK_DOOR_H

#include "common/net/address.h"
#include "common/net/auth.h"

struct event_base;
struct uplink_door;

/* Called from the loop. */
struct uplink_door_events {
    /* Takes over `fd`. `keys` are wiped afterwards; `from` is its address. */
    void (*on_admitted)(int fd, const struct auth_identity *id, const struct auth_keys *keys,
                        const char *from, void *arg);
    /* For a few of those that were turned away, however many there are. */
    void (*on_refused)(const char *text, void *arg);
    void *arg;
};

/* Listens on `ip`, which may be a wildcard, for `expected` hosts. The key is copied. ML_ERR_SYSTEM,
 * ML_ERR_ARGUMENT, ML_ERR_MEMORY. */
int uplink_door_open(struct uplink_door **out, struct event_base *base, const char *ip,
                     uint16_t port, int expected, const uint8_t key[AUTH_SECRET],
                     const struct uplink_door_events *events, struct fault *why);
void uplink_door_close(struct uplink_door *d); /* takes NULL */

/* "addr:port" */
const char *uplink_door_where(const struct uplink_door *d);

#endif

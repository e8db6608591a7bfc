/* SPDX-License-Identifier: MIT */
/*
 * uplink_parting.h: connections that have been admitted by the door, and get one more frame, now or
 * later: why the host may not stay, or where it is to call.
 */
#ifndef LAUNCHER_WIRE_UPLINK_UPLINK_PARTING_H
#define LAUNCHER_WIRE_UPLINK_UPLINK_PARTING_H

#include "common/net/auth.h"

#include <stdbool.h>
#include <stddef.h>

struct event_base;
struct uplink_parting;
struct uplink_partings;

struct uplink_partings *uplink_partings_create(struct event_base *base); /* NULL: out of memory */
void uplink_partings_destroy(struct uplink_partings *all);               /* takes NULL */
bool uplink_partings_is_empty(const struct uplink_partings *all);

/* Takes over `fd`. *place, if it is not NULL, is the connection until uplink_parting_say(), and
 * becomes NULL when that is called or the other side closes. NULL: out of memory. */
struct uplink_parting *uplink_parting_add(struct uplink_partings *all, int fd,
                                          const struct auth_keys *keys,
                                          struct uplink_parting **place);

/* Sends the frame, and closes once the other side has, or after 2 s. */
void uplink_parting_say(struct uplink_parting *p, int type, const void *payload, size_t size);

#endif

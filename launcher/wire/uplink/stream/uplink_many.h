/* SPDX-License-Identifier: MIT */
/*
 * uplink_many.h: UPLINK_MANY, bytes for the agents of many hosts, which leave the head once for
 * each connection, and each host below once, too (doc/protocol.md, "A tree of hosts"). The hosts
 * are in ranges. A range also has hosts that are not below the connection; they are not meant.
 */
#ifndef LAUNCHER_WIRE_UPLINK_STREAM_UPLINK_MANY_H
#define LAUNCHER_WIRE_UPLINK_STREAM_UPLINK_MANY_H

#include "launcher/wire/uplink/stream/uplink_stream.h"
#include "launcher/wire/uplink/stream/uplink_tree.h"

enum { UPLINK_RANGES_MOST = 64 };

struct uplink_range {
    int first, last;
};

struct uplink_many {
    uint32_t run;
    struct uplink_range ranges[UPLINK_RANGES_MOST]; /* they rise */
    int count;
    const uint8_t *bytes; /* in the frame */
    size_t size;
};

void uplink_many_send(const struct uplink_many *m, struct uplink_stream *to);
/* False: malformed, or for hosts that are none of `hosts`. */
bool uplink_many_take(struct uplink_many *out, const struct frame *f, int hosts);

bool uplink_many_has(const struct uplink_many *m, int host);
/* `top`, or one below it. */
bool uplink_many_reaches(const struct uplink_many *m, const struct uplink_tree *t, int top);

#endif

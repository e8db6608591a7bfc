/* SPDX-License-Identifier: MIT */
/*
 * uplink_protocol.h: the frames on the connection by which a host calls the head
 * (doc/protocol.md, "Uplink"). They follow the handshake, and are sealed. The head speaks first.
 */
#ifndef LAUNCHER_WIRE_UPLINK_UPLINK_PROTOCOL_H
#define LAUNCHER_WIRE_UPLINK_UPLINK_PROTOCOL_H

#include "common/net/auth.h"

#define UPLINK_PURPOSE "join"

enum uplink_frame {
    UPLINK_ADMITTED = AUTH_FRAME_LAST + 1, /* head → host: empty, or u32 fanout, u32 first */
    UPLINK_REFUSED,                        /* head → host: a text; the end */
    UPLINK_HERE,                           /* host → head: the host's name */
    UPLINK_OPEN,                           /* head → host: u32 run: start an agent */
    UPLINK_DATA,                           /* both: u32 run, bytes of the agent's channel */
    UPLINK_SHUT,                           /* both: u32 run: no more bytes come from this side */
    UPLINK_ENDED,                          /* host → head: u32 run, a text: how the agent ended */
    UPLINK_CLOSE,                          /* head → host: u32 run: the channel is closed */
    UPLINK_STATUS,                         /* head → host: u32 exit status of the job; the end */
    /* With --fanout, where the head is whom the host has called. */
    UPLINK_GO,     /* head → host: "addr:port" of the host that it is to call; the end */
    UPLINK_DOOR,   /* host → head: "addr:port" where it waits for others; before HERE */
    UPLINK_ROUTED, /* both: u32 host below, u8 type, and what such a frame has */
    UPLINK_LOST,   /* host → head, of a host below: a text: why its connection has ended */
    UPLINK_PING,   /* head → host: empty */
    UPLINK_PONG,   /* host → head: empty */
    UPLINK_MANY, /* head → host: u32 run, u32 count, u32 first and last host each, DATA's bytes */
};

enum {
    UPLINK_LIMIT = 64 << 10, /* bytes of a frame's payload */
    UPLINK_NAME = 256,       /* bytes of a host's name, terminated */
    UPLINK_TEXT = 512,       /* bytes of a text, terminated */
};

#endif

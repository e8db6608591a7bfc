/* SPDX-License-Identifier: MIT */
/*
 * uplink_gather.h: with --fanout, what the head sends to the agents below one of its connections.
 * Bytes that several of them get in one turn of the loop are sent once, as UPLINK_MANY; where they
 * only begin alike, the rest follows for each. It makes no difference to the agents: the bytes of
 * each stay in their order, also with the other frames on the connection.
 */
#ifndef LAUNCHER_WIRE_UPLINK_STREAM_UPLINK_GATHER_H
#define LAUNCHER_WIRE_UPLINK_STREAM_UPLINK_GATHER_H

#include "launcher/wire/uplink/stream/uplink_stream.h"
#include "launcher/wire/uplink/stream/uplink_tree.h"

struct uplink_gather;

/* `child` is at the other end of `stream`, which is to be closed afterwards. ML_ERR_MEMORY. */
int uplink_gather_open(struct uplink_gather **out, struct event_base *base,
                       struct uplink_stream *stream, const struct uplink_tree *tree, int child,
                       struct fault *why);
void uplink_gather_close(struct uplink_gather *g); /* takes NULL; what it holds is dropped */

/* Bytes for that run of `host`, which is the child or below it. They are sent before any other
 * frame of the stream, or in the next turn of the loop. */
void uplink_gather_add(struct uplink_gather *g, int host, uint32_t run, const void *bytes,
                       size_t size);

#endif

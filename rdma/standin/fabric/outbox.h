/* SPDX-License-Identifier: MIT */
/* outbox.h: what a connection is sent, in order. What its socket has no room for waits here. */
#ifndef RDMA_STANDIN_FABRIC_OUTBOX_H
#define RDMA_STANDIN_FABRIC_OUTBOX_H

#include <event2/event.h>
#include <stdbool.h>
#include <stddef.h>

/* Bytes that may wait: of segments, and of all messages. The rest is for what may not be lost. */
enum { OUTBOX_SEGMENTS = 64 << 20, OUTBOX_MOST = 128 << 20 };

struct outbox;

/* NULL: out of memory. `fd` stays the caller's, who closes the outbox first. */
struct outbox *outbox_open(struct event_base *base, int fd);
void outbox_close(struct outbox *b); /* takes NULL */

/* Sends a message, with a copy of a descriptor if that is not -1. Where the program does not read,
 * or there is no memory, the connection is shut down, which the reader of `fd` sees. */
void outbox_send(struct outbox *b, const void *message, size_t size, int descriptor);

/* Whether there is room for a segment. */
bool outbox_has_room(const struct outbox *b);

#endif

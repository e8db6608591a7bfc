/* SPDX-License-Identifier: MIT */
/*
 * connection_send.h: frames to one rank or agent, and to several ranks, of which those of one host
 * get theirs through their agent in one message. NULL and closed connections are ignored. Sending
 * never fails, for the loss of a connection is reported by on_closed. All functions are called on
 * the loop's thread.
 */
#ifndef COORDINATOR_CONNECTION_SEND_H
#define COORDINATOR_CONNECTION_SEND_H

#include "coordinator/server_state.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void connection_send(struct connection *c, uint8_t type, const void *payload, size_t size);
/* Takes over `message`. NULL, which json_pack() gives without memory: connection_give_up(). */
void connection_send_json(struct connection *c, uint8_t type, json_t *message);

/* A frame for several ranks: connection_cast_add for each, then connection_cast_send for each.
 * Those of one host whose agent relays get it in one message. */
void connection_cast_add(struct connection *to);
void connection_cast_send(struct connection *to, uint8_t type, const void *payload, size_t size);
size_t connection_cast_most(const struct server *s); /* bytes of the longest payload */

/* Writes one copy of an EXCHANGED for `readers` ranks of this host, and the payload of the
 * EXCHANGED_COPY for each. False: each has to get the bytes. */
enum { COPY_NUMBER = 4 };
bool connection_share(struct server *s, int readers, const void *payload, size_t size,
                      uint8_t number[COPY_NUMBER]);

/* For a frame that finds no memory: the loop will see the connection's end, as does the peer, which
 * would wait for the frame otherwise. */
void connection_give_up(struct connection *c);

#endif

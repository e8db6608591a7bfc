/* SPDX-License-Identifier: MIT */
/*
 * contexts.h: the open devices, each of which is a connection (fabric_message.h).
 *
 *     accepted ──HELLO──▶ open ──its end, or nonsense──▶ leaving ──its last segment arrives──▶ over
 *
 * A number is given out again only after all others have been, so that nobody takes a new context
 * for one that is over.
 */
#ifndef RDMA_STANDIN_FABRIC_CONTEXTS_H
#define RDMA_STANDIN_FABRIC_CONTEXTS_H

#include "rdma/standin/fabric/ports.h"

#include <event2/event.h>

struct contexts;

/* Listens at DIR/HOST/dev/uverbsN for each device. ML_ERR_MEMORY, ML_ERR_SYSTEM. */
int contexts_open(struct contexts **out, struct event_base *base, struct ports *ports,
                  const char *dir, int64_t seed, struct fault *why);
void contexts_close(struct contexts *c); /* takes NULL */

/* Tells all contexts of the port's device how the port is now, and what has happened to it. */
void contexts_tell(struct contexts *c, const struct ports_port *p, enum ibv_event_type event);

/* Writes the programs that have opened the device, and how many of its objects each has, to `out`:
 * " PID NAME pd N cq N qp N mr N;" for each, as many as there is room for. */
void contexts_objects(const struct contexts *c, const struct ports_device *d, char *out,
                      size_t size);

/* The first sentence on why the fabric cannot serve any longer; "" if it can. */
const char *contexts_failure(const struct contexts *c);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * wires.h: segments on their way from port to port, which takes the wires' time and may lose them.
 *
 * A segment leaves when those before it have left, takes its size and that of its packets' headers
 * by the wire's rate, and arrives a delay later. A switch passes on each packet as it comes (cut
 * through), and its port to the receiver is a lane of its own, which all senders share. What goes
 * from a port to itself touches no wire. Between two ports the order is kept.
 */
#ifndef RDMA_STANDIN_FABRIC_WIRES_H
#define RDMA_STANDIN_FABRIC_WIRES_H

#include "rdma/standin/fabric/ports.h"

#include <event2/event.h>

struct wires;

/* A segment has arrived at the port `to`, or is lost; then `to` is NULL. */
typedef void wires_arrive_fn(void *arg, const struct fabric_segment *s,
                             const struct ports_port *to);

/* ML_ERR_MEMORY, ML_ERR_SYSTEM. `seed` is of the generator that says what is lost. */
int wires_open(struct wires **out, struct event_base *base, struct ports *ports, int64_t seed,
               wires_arrive_fn *on_arrive, void *arg, struct fault *why);
void wires_close(struct wires *w); /* takes NULL; what is on its way is dropped */

/* Sends a segment from a port. It may arrive within this call, together with others. */
void wires_send(struct wires *w, struct ports_port *from, const struct fabric_segment *s);

#endif

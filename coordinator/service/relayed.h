/* SPDX-License-Identifier: MIT */
/* relayed.h: ranks that talk to the coordinator through their host's agent (host/host_relay.h). */
#ifndef COORDINATOR_SERVICE_RELAYED_H
#define COORDINATOR_SERVICE_RELAYED_H

#include "common/fault.h"
#include "common/net/frame.h"

struct connection;

/* receive.h; `agent` is the agent's connection. */
int relayed_receive_opened(struct connection *agent, const struct frame *f, struct fault *why);
int relayed_receive_sent(struct connection *agent, const struct frame *f, struct fault *why);
int relayed_receive_closed(struct connection *agent, const struct frame *f, struct fault *why);
void relayed_drop_all(struct connection *agent); /* which has ended */

#endif

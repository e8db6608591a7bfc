/* SPDX-License-Identifier: MIT */
/*
 * join_node.h: a host that joins: it calls the head, starts the agents that the head asks for, and
 * carries their bytes, until the head says how the job has ended.
 */
#ifndef LAUNCHER_WIRE_JOIN_JOIN_NODE_H
#define LAUNCHER_WIRE_JOIN_JOIN_NODE_H

#include "launcher/wire/uplink/uplink_call.h"

/* `agent`: its path, or NULL for that of this build. Returns the exit status. */
int join_node_run(const struct uplink_call *call, const char *agent);

/* For an agent that srun or --agent-command has started: reads from its standard input whom to
 * call, and whom to start. */
int join_node_run_order(void);

#endif

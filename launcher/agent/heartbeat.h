/* SPDX-License-Identifier: MIT */
/* heartbeat.h: a launcher that says nothing for AGENT_SILENCE_MS is gone, unless it announced a
 * pause. */
#ifndef LAUNCHER_AGENT_HEARTBEAT_H
#define LAUNCHER_AGENT_HEARTBEAT_H

struct agent;

/* Begins to watch. -1: out of memory. */
int heartbeat_open(struct agent *a);

#endif

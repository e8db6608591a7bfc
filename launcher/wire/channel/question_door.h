/* SPDX-License-Identifier: MIT */
/*
 * question_door.h: a socket of this mlaunch, by which other processes of its user ask the agents of
 * hosts that have joined its job (doc/protocol.md, "The door"). Nobody else can reach those. A
 * caller names a host, and then speaks to the door as to that host's agent, but may only look.
 */
#ifndef LAUNCHER_WIRE_CHANNEL_QUESTION_DOOR_H
#define LAUNCHER_WIRE_CHANNEL_QUESTION_DOOR_H

#include "launcher/wire/channel/agent_session.h"

struct event_base;
struct question_door;

/* It is shut. ML_ERR_MEMORY. */
int question_door_create(struct question_door **out, struct event_base *base, struct fault *why);
void question_door_destroy(struct question_door *d); /* removes the socket; takes NULL */

/* Opens it at `path`, in a directory that is closed to other users. ML_ERR_SYSTEM: `path` is too
 * long or cannot be bound. */
int question_door_open(struct question_door *d, const char *path, struct fault *why);

/* Whose agents are asked, hosts 0 to `count` - 1; NULL: nobody's. To be called with NULL before the
 * session is closed. */
void question_door_serve(struct question_door *d, struct agent_session *session, int count);

#endif

/* SPDX-License-Identifier: MIT */
/* stall.h: WAITING and MOVING, by which a rank reports that a call waits, and that it goes on. */
#ifndef COORDINATOR_SERVICE_STALL_H
#define COORDINATOR_SERVICE_STALL_H

#include "common/fault.h"
#include "coordinator/server_group.h"

#include <event2/util.h>
#include <jansson.h>

struct server;

/* receive.h */
int stall_receive_waiting(struct server_group *p, struct server_seat *seat, json_t *message,
                          struct fault *why);
int stall_receive_moving(struct server_group *p, struct server_seat *seat, json_t *message,
                         struct fault *why);
/* Reports each call that ranks wait in now, also those that were reported before. */
void stall_tell(struct server *s);
/* The server `arg` has waited until its stalls are due: reports them, and sets the next time. */
void stall_on_timeout(evutil_socket_t fd, short what, void *arg);

#endif

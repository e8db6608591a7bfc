/* SPDX-License-Identifier: MIT */
/*
 * connection.h: one socket from accept() to its end, with the handshake. What its peer sends
 * afterwards goes to the server's handlers (server_state.h). All functions are called on the loop's
 * thread.
 */
#ifndef COORDINATOR_CONNECTION_H
#define COORDINATOR_CONNECTION_H

#include "common/fault.h"
#include "coordinator/server_state.h"

#include <stdbool.h>

/* Takes over `fd`, and closes it at once if there is no room for strangers or no memory. */
void connection_accept(struct server *s, int fd);
/* Closes it, which calls on_closed if it was a rank's or an agent's. It is freed later, outside of
 * all callbacks. Nothing happens if it is closed already. */
void connection_drop(struct connection *c);
/* Drops a rank or agent that sent a malformed frame. The rank is then dead to the others. */
void connection_cut_off(struct connection *c, const struct fault *why);
/* Drops one that has not proved itself, for want of descriptors; false: there is none. */
bool connection_push_out(struct server *s);
/* Frees all connections of the list, which calls nothing. */
void connection_free_all(struct connection_list *list);

#endif

/* SPDX-License-Identifier: MIT */
/* taken_port.h: whether something on this host has a TCP port. */
#ifndef LAUNCHER_AGENT_HOST_TAKEN_PORT_H
#define LAUNCHER_AGENT_HOST_TAKEN_PORT_H

#include <stdbool.h>

/* True if a program could not listen on it at all addresses, now. */
bool port_is_taken(int port);

#endif

/* SPDX-License-Identifier: MIT */
/* own_address.h: an address of this host at which others may reach it. */
#ifndef LAUNCHER_AGENT_HOST_OWN_ADDRESS_H
#define LAUNCHER_AGENT_HOST_OWN_ADDRESS_H

#include "common/net/address.h"

/* The address by which SSH has reached this host; "" without SSH. Ignores an SSH_CONNECTION that a
 * batch system or another launcher has brought along from another host. */
void own_address_of_ssh(char out[ADDRESS_TEXT]);

/* A guess for agents that were not started by SSH: the address towards the head that this host has
 * joined (MLAUNCH_HEAD, which `mlaunch join` sets), else towards srun's host, else that of the
 * default route, else that of the first network interface, else a loopback address. */
void own_address_guess(char out[ADDRESS_TEXT]);

/* This host's addresses, without loopback and link-local ones: "10.0.0.2, fd00::2"; cut off at
 * `size`. */
void own_address_list(char *out, size_t size);

#endif

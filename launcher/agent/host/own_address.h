/* SPDX-License-Identifier: MIT */
/* own_address.h: an address of this host at which others may reach it. */
#ifndef LAUNCHER_AGENT_HOST_OWN_ADDRESS_H
#define LAUNCHER_AGENT_HOST_OWN_ADDRESS_H

#include "common/address.h"

/* The one that SSH came in by; "" without SSH. An SSH_CONNECTION that a batch system or another
 * launcher brought along from elsewhere doesn't count. */
void own_address_of_ssh(char out[ADDRESS_TEXT]);

/* A guess for other ways in: the side of srun's host, else of the default route, else of the first
 * network; a loopback address if there is none. */
void own_address_guess(char out[ADDRESS_TEXT]);

#endif

/* SPDX-License-Identifier: MIT */
/* profile_wiring.h: the ports that a profile's wires and switches join. */
#ifndef RDMA_STANDIN_PROFILE_PROFILE_WIRING_H
#define RDMA_STANDIN_PROFILE_PROFILE_WIRING_H

#include "common/fault.h"
#include "rdma/standin/profile/profile.h"

/* Finds the ports, of devices that have been checked. ML_ERR_ARGUMENT: there is no such port, it is
 * in two places, or two ports that reach each other have one address. */
int profile_wiring_check(struct profile *p, struct fault *why);

#endif

/* SPDX-License-Identifier: MIT */
/* rdma_wiring.h: the hostfile's wiring against what the hosts' devices are. */
#ifndef LAUNCHER_RDMA_WIRING_H
#define LAUNCHER_RDMA_WIRING_H

#include "launcher/plan.h"

#include <jansson.h>

/* devices: of each host, READY's "devices", or NULL. A device that is wired to host j by the
 * hostfile, but by its IPv4 subnet to another host of the job, is ML_ERR_ARGUMENT, and *host the one
 * whose row it is in. Subnets that no two hosts share prove nothing: routers may join them. */
int rdma_wiring_check(json_t *const *devices, const struct plan *p, int *host, struct fault *why);

#endif

/* SPDX-License-Identifier: MIT */
/* topology_stated.h: the RDMA matrix of a plan's hosts, as the hostfile or --rdma-device states it.
 */
#ifndef LAUNCHER_INPUT_PLAN_TOPOLOGY_STATED_H
#define LAUNCHER_INPUT_PLAN_TOPOLOGY_STATED_H

#include "launcher/input/plan/plan.h"

#include <jansson.h>

/* [host][host]: list of devices or null; the caller's reference. With --local net the diagonal
 * holds each host's first device. NULL: a host has no row, and --rdma-device names no device for
 * all hosts. */
json_t *topology_stated(const struct plan *p);

/* Another host has the place `host`: its row and column in `matrix` become what is stated of it, or
 * null. */
void topology_stated_move(json_t *matrix, const struct plan *p, int host);

#endif

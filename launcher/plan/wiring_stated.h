/* SPDX-License-Identifier: MIT */
/* wiring_stated.h: the rdma matrix of the hosts in use, as the hostfile or --rdma-device states it. */
#ifndef LAUNCHER_PLAN_WIRING_STATED_H
#define LAUNCHER_PLAN_WIRING_STATED_H

#include "launcher/plan/plan.h"

#include <jansson.h>

/* [host][host]: list of devices or null, the caller's. With --local net the diagonal holds each host's first
 * device. NULL: some host has no row, and no device was named for all. */
json_t *wiring_stated(const struct plan *p);

#endif

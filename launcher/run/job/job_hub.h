/* SPDX-License-Identifier: MIT */
/* job_hub.h: the hosts of --await: where they call, and the names that they bring. */
#ifndef LAUNCHER_RUN_JOB_JOB_HUB_H
#define LAUNCHER_RUN_JOB_JOB_HUB_H

#include "launcher/input/plan/plan.h"
#include "launcher/wire/uplink/uplink_hub.h"

struct event_base;

/* Reads the key and listens. Hosts that come get their names in the plan, which must outlive the
 * hub. *out is NULL if no host is to join. */
int job_hub_open(struct uplink_hub **out, struct event_base *base, const struct plan *p,
                 struct fault *why);

#endif

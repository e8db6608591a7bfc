/* SPDX-License-Identifier: MIT */
/*
 * job_hub.h: the hosts that call this machine: those of --await, with the names that they bring,
 * and with --fanout those that srun or --agent-command starts.
 */
#ifndef LAUNCHER_RUN_JOB_JOB_HUB_H
#define LAUNCHER_RUN_JOB_JOB_HUB_H

#include "launcher/input/plan/plan.h"
#include "launcher/wire/uplink/uplink_hub.h"

struct event_base;
struct job_hub;

/* Reads or makes the key, and listens. Hosts that come get their names in the plan, which must
 * outlive the hub. *out is NULL if no host is to call. */
int job_hub_open(struct job_hub **out, struct event_base *base, const struct plan *p,
                 struct fault *why);
struct uplink_hub *job_hub_uplinks(const struct job_hub *h); /* takes NULL */
void job_hub_close(struct job_hub *h, int status);           /* as uplink_hub_close(); takes NULL */

#endif

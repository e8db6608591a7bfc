/* SPDX-License-Identifier: MIT */
/* grow_hosts.h: on which hosts `mlaunch grow` wants further ranks. */
#ifndef LAUNCHER_RUN_CHANGE_GROW_HOSTS_H
#define LAUNCHER_RUN_CHANGE_GROW_HOSTS_H

#include "launcher/input/plan/plan_growth.h"

/* Reads the value of -H, which may come from anywhere, into *out, for the caller to clear. Hosts
 * that the job does not have are added to plan.list. ML_ERR_ARGUMENT: it is malformed, or the plan
 * has no room for the ranks; ML_ERR_STATE: a host cannot be one of the job's; ML_ERR_MEMORY. */
int grow_hosts_read(struct plan_growth *out, struct plan *p, const char *text,
                    char *const *environment, struct fault *why);

#endif

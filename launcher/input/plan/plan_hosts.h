/* SPDX-License-Identifier: MIT */
/* plan_hosts.h: the hosts that a job or a query may use. */
#ifndef LAUNCHER_INPUT_PLAN_PLAN_HOSTS_H
#define LAUNCHER_INPUT_PLAN_PLAN_HOSTS_H

#include "common/fault.h"
#include "launcher/input/hosts/host_list.h"
#include "launcher/input/plan/plan.h"

/* Reads the hosts from --hosts or --hostfile, of which the one set in the higher configuration
 * layer wins; without either from the batch system's allocation; outside of an allocation the list
 * is this machine alone. Warns about named hosts that lie outside the allocation. The hosts of
 * --spare-hosts are also in the list (host.spare), with what a hostfile or an allocation says about
 * them. *out is the caller's, set on success only. ML_ERR_ARGUMENT, ML_ERR_MEMORY. */
int plan_hosts_find(struct host_list **out, const struct options *o, char *const *environment,
                    struct fault *why);

/* Gives the host the variables that all hosts have, in front of its own, which win; once. */
int plan_hosts_set_env(const struct plan *p, struct host *h, struct fault *why);

#endif

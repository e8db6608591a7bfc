/* SPDX-License-Identifier: MIT */
/* allocation.h: the hosts that a batch system (Slurm, PBS, LSF, SGE) gave to the job we are in. */
#ifndef LAUNCHER_HOSTS_ALLOCATION_H
#define LAUNCHER_HOSTS_ALLOCATION_H

#include "common/fault.h"
#include "launcher/hosts/host_list.h"

/* *out: NULL outside of an allocation. What the batch system says but can't be understood is an
 * error that names the variable or file, and the text at fault. */
int allocation_read(struct host_list **out, char *const *environment, struct fault *why);

/* For hosts that the user named: those inside the allocation get its names (host.node); for each
 * one outside there is a warning. */
int allocation_match(struct host_list *l, char *const *environment, struct fault *why);

#endif

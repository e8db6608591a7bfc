/* SPDX-License-Identifier: MIT */
/* allocation.h: the hosts that a batch system (Slurm, PBS, LSF, SGE) gave to the job we are in. */
#ifndef LAUNCHER_ALLOCATION_H
#define LAUNCHER_ALLOCATION_H

#include "common/fault.h"
#include "launcher/host_list.h"

/* *out: NULL outside of an allocation. What the batch system says but can't be understood is an
 * error that names the variable or file. */
int allocation_read(struct host_list **out, char *const *environment, struct fault *why);

#endif

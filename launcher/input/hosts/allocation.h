/* SPDX-License-Identifier: MIT */
/* allocation.h: the hosts that a batch system (Slurm, PBS, LSF, SGE, OAR, Cobalt) gave to the job
 * that mlaunch runs in. */
#ifndef LAUNCHER_INPUT_HOSTS_ALLOCATION_H
#define LAUNCHER_INPUT_HOSTS_ALLOCATION_H

#include "common/fault.h"
#include "launcher/input/hosts/host_list.h"

/* Reads the allocation that `environment` describes. *out is the caller's; NULL outside of an
 * allocation and on failure. ML_ERR_ARGUMENT names the variable or file and the text that cannot be
 * parsed. */
int allocation_read(struct host_list **out, char *const *environment, struct fault *why);

/* For a job on this machine alone, because the user named no hosts: warns if the environment is
 * that of a job which may have more hosts, and allocation_read() finds none in it. */
void allocation_warn_unread(char *const *environment);

/* For hosts that the user named: sets host.node of those inside the allocation, warns about each
 * one outside. ML_ERR_ARGUMENT: a spare one is outside; ML_ERR_MEMORY. */
int allocation_match(struct host_list *l, char *const *environment, struct fault *why);

#endif

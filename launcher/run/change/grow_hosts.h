/* SPDX-License-Identifier: MIT */
/* grow_hosts.h: on which hosts of a job `mlaunch grow` wants further ranks. */
#ifndef LAUNCHER_RUN_CHANGE_GROW_HOSTS_H
#define LAUNCHER_RUN_CHANGE_GROW_HOSTS_H

#include "launcher/input/plan/plan.h"

/* Reads the value of -H, which may come from anywhere: for each new rank an index as `plan.hosts`
 * has it, *count of them, in *out, for the caller to free. ML_ERR_ARGUMENT: it is malformed, one of
 * the hosts is none of the job's, or the plan has no room for the ranks; ML_ERR_MEMORY. */
int grow_hosts_read(int **out, int *count, const struct plan *p, const char *text,
                    struct fault *why);

#endif

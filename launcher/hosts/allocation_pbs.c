/* SPDX-License-Identifier: MIT */
/* allocation_pbs.c: PBS_NODEFILE has a line with a host for each of its slots. */
#include "launcher/hosts/allocation_system.h"

static const char *const variables[] = {"PBS_NODEFILE", NULL};

static int pbs_read(struct host_list *l, char *const *environment, struct fault *why)
{
    return allocation_add_lines(l, *variables, allocation_find(environment, variables, NULL), false,
                                why);
}

const struct allocation_system allocation_pbs = {"a", "PBS", "PBS_JOBID", variables, pbs_read};

/* SPDX-License-Identifier: MIT */
/* allocation_sge.c: PE_HOSTFILE has lines "host slots queue processors". */
#include "launcher/hosts/allocation_system.h"

static const char *const variables[] = {"PE_HOSTFILE", NULL};

static int sge_read(struct host_list *l, char *const *environment, struct fault *why)
{
    return allocation_add_lines(l, *variables, allocation_find(environment, variables, NULL), true,
                                why);
}

const struct allocation_system allocation_sge = {"an", "SGE", "JOB_ID", variables, sge_read};

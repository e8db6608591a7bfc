/* SPDX-License-Identifier: MIT */
/* placement.h: how many ranks go to which host, and which. */
#ifndef LAUNCHER_PLAN_PLACEMENT_H
#define LAUNCHER_PLAN_PLACEMENT_H

#include "common/fault.h"
#include "launcher/hosts/host_list.h"

#include <stdbool.h>

enum { PLACEMENT_LIMIT = 1 << 20 }; /* ranks in all */

struct placement {
    int np;  /* ranks in all; 0: not said */
    int ppn; /* ranks a host; 0: not said */
    bool oversubscribe;
    bool by_host; /* deal ranks out one by one, instead of filling each host in turn */
};

/* *host_of is an array, owned by the caller, of the index into l->hosts for each of *size ranks.
 * ML_ERR_ARGUMENT names both numbers if there is no room. */
int placement_make(int **host_of, int *size, const struct host_list *l, const struct placement *p,
                   struct fault *why);

#endif

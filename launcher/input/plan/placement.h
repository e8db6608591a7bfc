/* SPDX-License-Identifier: MIT */
/* placement.h: which rank goes to which host. */
#ifndef LAUNCHER_INPUT_PLAN_PLACEMENT_H
#define LAUNCHER_INPUT_PLAN_PLACEMENT_H

#include "common/fault.h"
#include "launcher/input/hosts/host_list.h"

#include <stdbool.h>

enum { PLACEMENT_LIMIT = 1 << 20 }; /* ranks in all */

struct placement {
    int np;  /* ranks in all; 0: not given */
    int ppn; /* ranks per host; 0: not given */
    bool oversubscribe;
    bool by_host; /* deal ranks out one by one, instead of filling each host in turn */
};

/* Stores in *host_of an array, owned by the caller, with the index into l->hosts for each of *size
 * ranks. ML_ERR_ARGUMENT names the wanted and the possible number if there is no room. */
int placement_make(int **host_of, int *size, const struct host_list *l, const struct placement *p,
                   struct fault *why);

#endif

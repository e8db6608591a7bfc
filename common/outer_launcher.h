/* SPDX-License-Identifier: MIT */
/* outer_launcher.h: tells whether srun or an mpirun has started this process, as one of several. */
#ifndef COMMON_OUTER_LAUNCHER_H
#define COMMON_OUTER_LAUNCHER_H

#include <stdbool.h>

struct outer_launcher {
    const char *name; /* "srun"; not to be freed */
    const char *size_variable;
    int size;      /* from 2 */
    bool is_first; /* this process is the first of them */
};

/* False: none of them has, or it has started this process alone, or this process is a rank of
 * mlaunch's or its child. Reads the environment. */
bool outer_launcher_find(struct outer_launcher *out);

#endif

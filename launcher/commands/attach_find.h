/* SPDX-License-Identifier: MIT */
/* attach_find.h: where a rank of a job that runs already is. */
#ifndef LAUNCHER_COMMANDS_ATTACH_FIND_H
#define LAUNCHER_COMMANDS_ATTACH_FIND_H

#include "launcher/input/plan/plan.h"

struct attach_place {
    int host; /* index into the plan's list of hosts */
    int pid;
    char *cwd, *shell; /* owned */
    bool has_gdb;
};

/* Asks all hosts of the plan. ML_ERR_STATE: none has such a job of the user; ML_ERR_ARGUMENT:
 * no such rank of it runs. The sentence tells what hosts could not be asked. */
int attach_find(struct attach_place *out, const struct plan *p, const struct options *o,
                const char *job, int rank, struct fault *why);
void attach_place_clear(struct attach_place *place);

#endif

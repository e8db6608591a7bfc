/* SPDX-License-Identifier: MIT */
/* binding_variables.h: the variables by which a rank's libraries know its threads, its GPUs,
 * and the RDMA devices beside them. */
#ifndef LAUNCHER_AGENT_BINDING_BINDING_VARIABLES_H
#define LAUNCHER_AGENT_BINDING_BINDING_VARIABLES_H

#include "launcher/agent/binding/binding.h"

enum { BINDING_VARIABLES = 8 };

struct binding_variables {
    char texts[BINDING_VARIABLES][BINDING_PORTS_TEXT + 32];
    const char *list[BINDING_VARIABLES + 1]; /* NAME=VALUE, NULL-terminated */
    int count;
};

/* b: the rank's, of machine m, or NULL; threads: 0 if no variable is to say their number. */
void binding_variables_fill(struct binding_variables *v, const struct binding *b,
                            const struct machine *m, int threads);

#endif

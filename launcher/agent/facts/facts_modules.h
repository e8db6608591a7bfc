/* SPDX-License-Identifier: MIT */
/* facts_modules.h: which versions of Python modules a program would import. */
#ifndef LAUNCHER_AGENT_FACTS_FACTS_MODULES_H
#define LAUNCHER_AGENT_FACTS_FACTS_MODULES_H

#include <jansson.h>

/* Asks the python3 of PATH, for at most 20 s, without importing them. Returns an array with
 * {"module", "version" or "error"} for each name; of names that are no strings nothing. */
json_t *facts_modules_read(const json_t *names);

#endif

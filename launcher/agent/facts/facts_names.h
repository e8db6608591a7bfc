/* SPDX-License-Identifier: MIT */
/* facts_names.h: which addresses this host finds for the names of others. */
#ifndef LAUNCHER_AGENT_FACTS_FACTS_NAMES_H
#define LAUNCHER_AGENT_FACTS_FACTS_NAMES_H

#include <jansson.h>

/* Looks all names up at once, for at most 3 s. Adds "resolved": for each name {"addresses": [text]}
 * or {"error": text}; {} for "". */
void facts_names_resolve(const json_t *names, json_t *out);

#endif

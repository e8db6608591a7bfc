/* SPDX-License-Identifier: MIT */
/* facts.h: what `mlaunch info`, `status` and `verify` ask of a host. */
#ifndef LAUNCHER_AGENT_FACTS_FACTS_H
#define LAUNCHER_AGENT_FACTS_FACTS_H

#include <jansson.h>

/* Adds what the question (doc/protocol.md, "Questions") asks for, of this machine or of the one
 * whose files lie below the question's "root". */
void facts_gather(const json_t *question, json_t *out);

#endif

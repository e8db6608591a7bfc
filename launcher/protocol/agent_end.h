/* SPDX-License-Identifier: MIT */
/* agent_end.h: how an agent's process ended, in words. */
#ifndef LAUNCHER_PROTOCOL_AGENT_END_H
#define LAUNCHER_PROTOCOL_AGENT_END_H

#include <stddef.h>

/* "the agent …": `signal` (a name as in "KILL", or NULL) or else `status`; `words` is what it wrote
 * last on its stderr, or "". */
void agent_end_describe(char *text, size_t size, int status, const char *signal, const char *words);

#endif

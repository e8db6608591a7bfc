/* SPDX-License-Identifier: MIT */
/* agent_end.h: describes the end of an agent's process. */
#ifndef LAUNCHER_WIRE_PROTOCOL_AGENT_END_H
#define LAUNCHER_WIRE_PROTOCOL_AGENT_END_H

#include <stddef.h>

/* Stores a sentence that begins with "the agent". `signal`: the signal that killed it, as "KILL",
 * or NULL; then `status` is its exit status. `words`: the end of its stderr, or "". */
void agent_end_describe(char *text, size_t size, int status, const char *signal, const char *words);

#endif

/* SPDX-License-Identifier: MIT */
/* facts_writing.h: whether a job can make its files on this machine. */
#ifndef LAUNCHER_AGENT_FACTS_FACTS_WRITING_H
#define LAUNCHER_AGENT_FACTS_FACTS_WRITING_H

#include <jansson.h>

/* Makes, writes, maps and removes a file in temporary_directory(""), in /dev/shm, and where agents
 * are copied to, which only counts if this agent is such a copy. Adds "no_tmp", "no_shm" and
 * "no_cache", each the reason why that failed. */
void facts_writing_try(json_t *out);

#endif

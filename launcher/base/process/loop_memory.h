/* SPDX-License-Identifier: MIT */
/* loop_memory.h: what happens when libevent finds no memory. */
#ifndef LAUNCHER_BASE_PROCESS_LOOP_MEMORY_H
#define LAUNCHER_BASE_PROCESS_LOOP_MEMORY_H

/* From now on this process ends with a sentence and STATUS_OURS when libevent finds no memory:
 * without it a frame, a timer or a descriptor is missing in the loop, and the job would hang. What
 * this process leaves behind is ended by those that see its end: its agents, or the agent's guard.
 * Before libevent is used. */
void loop_memory_prepare(void);

/* A file that must go with this process, also at such an end; NULL: none. `path` is borrowed. */
void loop_memory_keep_file(const char *path);

#endif

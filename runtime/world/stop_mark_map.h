/* SPDX-License-Identifier: MIT */
/* stop_mark_map.h: whether this host's agent was asked to stop the job (common/agent_to_rank.h). */
#ifndef RUNTIME_WORLD_STOP_MARK_MAP_H
#define RUNTIME_WORLD_STOP_MARK_MAP_H

#include "common/fault.h"

/* 1 or 0. `dir`: the job directory, the same in every call of a process. The first call maps the
 * file, the others only look at it. ML_ERR_SYSTEM: it cannot be mapped. Any thread. */
int stop_mark_map_read(const char *dir, struct fault *why);

#endif

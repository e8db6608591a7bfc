/* SPDX-License-Identifier: MIT */
/* facts_limits_linux.h: what ranks that this agent starts may use. */
#ifndef LAUNCHER_AGENT_FACTS_FACTS_LIMITS_LINUX_H
#define LAUNCHER_AGENT_FACTS_FACTS_LIMITS_LINUX_H

#include <jansson.h>

/* Returns {"memlock", "nofile", …} (doc/protocol.md, "Questions"); -1: without limit. */
json_t *facts_limits_read(void);

#endif

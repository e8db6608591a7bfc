/* SPDX-License-Identifier: MIT */
/* facts_system_linux.h: the system, its processors, memory and GPUs. */
#ifndef LAUNCHER_AGENT_FACTS_FACTS_SYSTEM_LINUX_H
#define LAUNCHER_AGENT_FACTS_FACTS_SYSTEM_LINUX_H

#include <jansson.h>

/* Returns {"os", "kernel", "cpu", …} (doc/protocol.md, "Questions") of the machine whose files lie
 * below `root`. What is known only of a live machine is left out unless that is "". */
json_t *facts_system_read(const char *root);

#endif

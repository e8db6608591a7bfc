/* SPDX-License-Identifier: MIT */
/* facts_rdma_linux.h: RDMA devices and their ports, as sysfs shows them, without verbs. */
#ifndef LAUNCHER_AGENT_FACTS_FACTS_RDMA_LINUX_H
#define LAUNCHER_AGENT_FACTS_FACTS_RDMA_LINUX_H

#include <jansson.h>

/* Returns an array with an object for each device (doc/protocol.md, "Questions") of the machine
 * whose files lie below `root`. */
json_t *facts_rdma_read(const char *root);

#endif

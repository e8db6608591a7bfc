/* SPDX-License-Identifier: MIT */
/* worker_server_linux.h: where the worker server of torch.distributed.debug listens. It takes any
 * TCP port and tells it only torch's own store, so that the process is looked at. */
#ifndef LAUNCHER_AGENT_EVIDENCE_WORKER_SERVER_LINUX_H
#define LAUNCHER_AGENT_EVIDENCE_WORKER_SERVER_LINUX_H

#include <stdint.h>
#include <sys/types.h>

/* Stores the ports at which it may listen, at most `most` of them, and returns how many: those at
 * which the process listens at all addresses, but `other`, which is torch's store. 0: the process
 * has no thread of that server, or another network. */
int worker_server_ports(pid_t pid, uint16_t other, uint16_t *out, int most);

#endif

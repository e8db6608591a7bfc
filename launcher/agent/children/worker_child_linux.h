/* SPDX-License-Identifier: MIT */
/* worker_child_linux.h: a process that the agent's worker forks for a task of its own. */
#ifndef LAUNCHER_AGENT_CHILDREN_WORKER_CHILD_LINUX_H
#define LAUNCHER_AGENT_CHILDREN_WORKER_CHILD_LINUX_H

enum { WORKER_CHILD_FD = 3 };

/* In the child, at once: it ends with the worker, takes signals as any process does, and keeps
 * nothing of the worker's but standard input, output and error, and `fd`, as WORKER_CHILD_FD. If
 * that is not possible, the process ends. */
void worker_child_begin(int fd);

#endif

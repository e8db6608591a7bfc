/* SPDX-License-Identifier: MIT */
/* failure_cause_linux.h: what this host knows of why a process failed: memory that ran out, or a
 * file system without free space. */
#ifndef LAUNCHER_AGENT_RANK_FAILURE_CAUSE_LINUX_H
#define LAUNCHER_AGENT_RANK_FAILURE_CAUSE_LINUX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How many processes the kernel had ended for want of memory, when it was last asked. */
struct failure_cause {
    int64_t killed_in_group; /* in this process's memory control group; -1: it has none */
    int64_t killed_on_host;
};

/* Call it before the processes start. */
void failure_cause_begin(struct failure_cause *c);

/* A process that was started in `cwd`, whose memory was at most peak_bytes, has failed: by signal
 * `signal`, or by its exit status if that is 0. False: no cause is known. */
bool failure_cause_find(char *out, size_t size, struct failure_cause *c, int signal,
                        int64_t peak_bytes, const char *cwd);

#endif

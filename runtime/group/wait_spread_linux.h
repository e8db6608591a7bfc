/* SPDX-License-Identifier: MIT */
/* wait_spread_linux.h: ranks that wait for each other on one processor while another one is free. */
#ifndef RUNTIME_GROUP_WAIT_SPREAD_LINUX_H
#define RUNTIME_GROUP_WAIT_SPREAD_LINUX_H

#include "runtime/group/group.h"

/* The calling thread, about to yield, waits in g. Moves it to another of its processors if a member with a lower
 * rank waits on this one, too, and there are processors for all. The thread's affinity is as before. */
void wait_spread(struct group *g, int64_t now_ns);

#endif

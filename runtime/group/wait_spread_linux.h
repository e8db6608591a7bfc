/* SPDX-License-Identifier: MIT */
/* wait_spread_linux.h: parts ranks that wait for each other on one processor while another is
 * free. */
#ifndef RUNTIME_GROUP_WAIT_SPREAD_LINUX_H
#define RUNTIME_GROUP_WAIT_SPREAD_LINUX_H

#include "runtime/group/group.h"

/* The calling thread waits in g and is about to yield. Moves it to another of its processors if a
 * member with a lower rank also waits on this one, and there are processors for all ranks. The
 * thread's affinity is unchanged afterwards. now_ns: clock_ns. */
void wait_spread(struct group *g, int64_t now_ns);

#endif

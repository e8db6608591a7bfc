/* SPDX-License-Identifier: MIT */
/*
 * agent_above_linux.h: whether this process belongs to a rank although its environment does not say
 * so: a program in between, such as sudo or env -i, has taken the environment away, but not the
 * parents and not the control group.
 */
#ifndef RUNTIME_WORLD_AGENT_ABOVE_LINUX_H
#define RUNTIME_WORLD_AGENT_ABOVE_LINUX_H

#include <stdbool.h>
#include <stddef.h>

/* Puts the sign into `text`: "mlaunch's agent, pid 4711, is above it". False: there is
 * none. An agent of another user is one, too: sudo and su change the user. Whoever can be above
 * this process could as well not have started it. */
bool agent_above_find(char *text, size_t size);

#endif

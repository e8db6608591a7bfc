/* SPDX-License-Identifier: MIT */
/* stack_interrupt_linux.h: whether a signal may be sent to a process that waits. */
#ifndef LAUNCHER_AGENT_STACK_STACK_INTERRUPT_LINUX_H
#define LAUNCHER_AGENT_STACK_STACK_INTERRUPT_LINUX_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * True if the main thread of the process goes on as before after a signal with a handler. Some
 * calls of the system end with EINTR then, whatever SA_RESTART says (signal(7)): poll, nanosleep
 * and others. Libraries that do not expect it take it for a failure; so the answer is false if the
 * thread waits in such a call, unless it was made by Python, by mlaunch, or by another library that
 * is known to call again. It is also false if /proc does not tell: another user's process.
 */
bool stack_interrupt_is_harmless(pid_t pid);

#endif

/* SPDX-License-Identifier: MIT */
/* signal_target_linux.h: which process of a rank a warning signal is meant for. */
#ifndef LAUNCHER_AGENT_HOST_SIGNAL_TARGET_LINUX_H
#define LAUNCHER_AGENT_HOST_SIGNAL_TARGET_LINUX_H

#include "launcher/base/machine/process_linux.h"

/* From the process `rank` down its only children, the first that has a handler for the signal: so a
 * shell that waits for the program is passed by, and the program's own workers are spared. `rank`
 * itself if none has. `all`: the processes of this machine. */
pid_t signal_target_find(const struct process_list *all, pid_t rank, int signal);

#endif

/* SPDX-License-Identifier: MIT */
/* core_file.h: finds the core file of a process that a signal has killed. */
#ifndef LAUNCHER_AGENT_RANK_CORE_FILE_H
#define LAUNCHER_AGENT_RANK_CORE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Follows kernel.core_pattern, for the process `pid` that was started in `cwd`. False: the pattern
 * pipes cores to a program, or there is no such file (the process had changed its directory). */
bool core_file_find(char *out, size_t size, pid_t pid, int signal, const char *cwd);

/* The same for a given pattern; `uses_pid`: kernel.core_uses_pid. Stores a glob(7) pattern in
 * `out`, because some values that core_pattern may contain are unknown by now. False: it pipes
 * cores to a program, or `out` is too small. */
bool core_file_pattern(char *out, size_t size, const char *pattern, bool uses_pid, pid_t pid,
                       int signal, const char *cwd);

#endif

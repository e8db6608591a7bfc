/* SPDX-License-Identifier: MIT */
/* core_file.h: where the kernel has put the core of a process that it killed. */
#ifndef LAUNCHER_AGENT_RANK_CORE_FILE_H
#define LAUNCHER_AGENT_RANK_CORE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Looks where core_pattern says, for the process `pid` that was started in `cwd`. False: the
 * pattern pipes cores to a program, or the file isn't there (the process had changed its
 * directory). */
bool core_file_find(char *out, size_t size, pid_t pid, int signal, const char *cwd);

/* The same for a given pattern; `uses_pid`: kernel.core_uses_pid. Into `out` as a glob(7) pattern,
 * as some of what core_pattern may name isn't known any more. */
bool core_file_pattern(char *out, size_t size, const char *pattern, bool uses_pid, pid_t pid,
                       int signal, const char *cwd);

#endif

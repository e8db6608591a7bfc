/* SPDX-License-Identifier: MIT */
/* spawn_files_linux.h: which descriptors a child gets. */
#ifndef LAUNCHER_BASE_PROCESS_SPAWN_FILES_LINUX_H
#define LAUNCHER_BASE_PROCESS_SPAWN_FILES_LINUX_H

#include <spawn.h>

/* The child of posix_spawn gets no descriptor from `first` on. All that this process opens itself
 * must be close-on-exec, as threads may open more before the child starts. Returns an errno. */
int spawn_files_close_from(posix_spawn_file_actions_t *files, int first);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * container_removal.h: which containers of a job may be left when all its processes have ended, as
 * files of the job's directory; whoever removes the directory removes them first. The folder
 * containers/ has a file for each container, named like it, and `command` with the words by which
 * they are removed.
 */
#ifndef LAUNCHER_BASE_CONTAINER_CONTAINER_REMOVAL_H
#define LAUNCHER_BASE_CONTAINER_CONTAINER_REMOVAL_H

#include "common/fault.h"

/* Notes the command (container_command_removal). ML_ERR_SYSTEM names the file. */
int container_removal_open(const char *job_dir, char *const *command, struct fault *why);
/* Before a container is started, and once it has ended in order. */
int container_removal_add(const char *job_dir, const char *name, struct fault *why);
void container_removal_drop(const char *job_dir, const char *name);

/* Runs the command with the names that are left, for at most 10 s. Does nothing if there are none,
 * or if another user owns the files. */
void container_removal_run(const char *job_dir);

#endif

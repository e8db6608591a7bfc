/* SPDX-License-Identifier: MIT */
/* wrapped_command.h: the command of a rank that runs under another one (--wrap). */
#ifndef LAUNCHER_AGENT_RANK_WRAPPED_COMMAND_H
#define LAUNCHER_AGENT_RANK_WRAPPED_COMMAND_H

#include "launcher/wire/protocol/job_spec.h"

/* The words of the rank's wrap with its number and its host in place of {rank} and {host}, then
 * `program` and the arguments of its app; NULL-terminated. A Python script that is not executable
 * in `cwd` has python3 before it. NULL: out of memory. */
char **wrapped_command_create(const struct job_spec *job, const struct job_rank *rank,
                              const char *program, const char *cwd);
void wrapped_command_destroy(char **argv); /* takes NULL */

#endif

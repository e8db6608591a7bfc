/* SPDX-License-Identifier: MIT */
/* rank_command.h: the command of a rank where it is not the program as it was given: the words of
 * --words are filled in, and --wrap puts another command before it. */
#ifndef LAUNCHER_AGENT_RANK_RANK_COMMAND_H
#define LAUNCHER_AGENT_RANK_RANK_COMMAND_H

#include "launcher/wire/protocol/job_spec.h"

/* Whether the rank's command has to be created. */
bool rank_command_is_own(const struct job_spec *job, const struct job_rank *rank);

/* `program` and the arguments of the rank's app, in which words are filled in; NULL-terminated.
 * With --wrap the words of the rank's wrap come before them, with its number and its host in place
 * of {rank} and {host}, and a Python script that is not executable in `cwd` has python3 before it.
 * `coordinator`: its address, or "". `port`: {port}. NULL: out of memory. */
char **rank_command_create(const struct job_spec *job, const struct job_rank *rank,
                           const char *program, const char *cwd, const char *coordinator, int port);
void rank_command_destroy(char **argv); /* takes NULL */

/* {port} is one of JOB_PORTS (agent_protocol.h), which are the same on all hosts: each says which
 * of them are taken there, and mlaunch chooses. Returns the bits of those that something on this
 * host has; 0 if no argument needs one. */
unsigned rank_command_ports_taken(const struct job_spec *job);
int rank_command_port(const struct job_spec *job, int index);

#endif

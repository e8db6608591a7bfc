/* SPDX-License-Identifier: MIT */
/* commands.h: the subcommands that take more than a question to all hosts, each in a file of its
 * name; struct subcommand says what they take and return. */
#ifndef LAUNCHER_COMMANDS_COMMANDS_H
#define LAUNCHER_COMMANDS_COMMANDS_H

/* `mlaunch attach JOB RANK`: a command on the host of a rank, in its directory and environment; on
 * a terminal if there is one. It runs as a job of its own, so that the rank's job does not depend
 * on it. */
int attach_command_run(int argc, char **argv);

/* `mlaunch exec`: a command once on each host, equal outputs printed once. */
int exec_command_run(int argc, char **argv);

/* `mlaunch logs`: what detached jobs have written. Status 1: there is no such log. */
int logs_command_run(int argc, char **argv);

/* `mlaunch shrink`: takes ranks out of a job of --elastic. Status 1: it has not. */
int shrink_command_run(int argc, char **argv);

/* `mlaunch grow`: adds ranks to one. Status 1: it has not. */
int grow_command_run(int argc, char **argv);

#endif

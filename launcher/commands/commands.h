/* SPDX-License-Identifier: MIT */
/* commands.h: the subcommands that take more than a question to all hosts, each in a file of its
 * name; struct subcommand says what they take and return. */
#ifndef LAUNCHER_COMMANDS_COMMANDS_H
#define LAUNCHER_COMMANDS_COMMANDS_H

/* `mlaunch logs`: what detached jobs have written. Status 1: there is no such log. */
int logs_command_run(int argc, char **argv);

/* `mlaunch shrink`: takes ranks out of a job of --elastic. Status 1: it has not. */
int shrink_command_run(int argc, char **argv);

/* `mlaunch grow`: adds ranks to one. Status 1: it has not. */
int grow_command_run(int argc, char **argv);

#endif

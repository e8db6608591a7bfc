/* SPDX-License-Identifier: MIT */
/* verify_command.h: `mlaunch info`, `status` and `verify`, which look at all hosts between jobs;
 * struct subcommand says what they take and return. */
#ifndef LAUNCHER_TOOLS_VERIFY_VERIFY_COMMAND_H
#define LAUNCHER_TOOLS_VERIFY_VERIFY_COMMAND_H

int info_run(int argc, char **argv);
int status_run(int argc, char **argv);
int verify_run(int argc, char **argv);

#endif

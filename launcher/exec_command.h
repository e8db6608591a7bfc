/* SPDX-License-Identifier: MIT */
/* exec_command.h: `mlaunch exec`: a command once on each host, equal outputs printed once. */
#ifndef LAUNCHER_EXEC_COMMAND_H
#define LAUNCHER_EXEC_COMMAND_H

int exec_command_run(int argc, char **argv); /* argv[0] is "exec"; returns the exit status */

#endif

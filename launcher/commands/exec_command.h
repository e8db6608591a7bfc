/* SPDX-License-Identifier: MIT */
/* exec_command.h: `mlaunch exec`: a command once on each host, equal outputs printed once. */
#ifndef LAUNCHER_COMMANDS_EXEC_COMMAND_H
#define LAUNCHER_COMMANDS_EXEC_COMMAND_H

/* struct subcommand says what it takes and returns. */
int exec_command_run(int argc, char **argv);

#endif

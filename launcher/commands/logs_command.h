/* SPDX-License-Identifier: MIT */
/* logs_command.h: `mlaunch logs`: what detached jobs have written. */
#ifndef LAUNCHER_COMMANDS_LOGS_COMMAND_H
#define LAUNCHER_COMMANDS_LOGS_COMMAND_H

/* argv[0] is the word `logs`. Returns mlaunch's exit status: 1 if there is no such log. */
int logs_command_run(int argc, char **argv);

#endif

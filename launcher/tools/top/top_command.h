/* SPDX-License-Identifier: MIT */
/* top_command.h: `mlaunch top`. */
#ifndef LAUNCHER_TOOLS_TOP_TOP_COMMAND_H
#define LAUNCHER_TOOLS_TOP_TOP_COMMAND_H

int top_command_run(int argc, char **argv); /* as struct subcommand says */

#endif

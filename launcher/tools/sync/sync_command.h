/* SPDX-License-Identifier: MIT */
/* sync_command.h: `mlaunch sync`: gives all hosts the same files. */
#ifndef LAUNCHER_TOOLS_SYNC_SYNC_COMMAND_H
#define LAUNCHER_TOOLS_SYNC_SYNC_COMMAND_H

/* argv[0] is "sync". Returns mlaunch's exit status. */
int sync_command_run(int argc, char **argv);

#endif

/* SPDX-License-Identifier: MIT */
/* join_command.h: mlaunch join. */
#ifndef LAUNCHER_JOIN_COMMAND_H
#define LAUNCHER_JOIN_COMMAND_H

int join_command_run(int argc, char **argv); /* argv[0] is "join"; returns the exit status */

#endif

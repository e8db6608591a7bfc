/* SPDX-License-Identifier: MIT */
/* env_command.h: `mlaunch env`, which tells a shell where this build's files are. */
#ifndef LAUNCHER_ENV_COMMAND_H
#define LAUNCHER_ENV_COMMAND_H

/* A subcommand; see struct subcommand. */
int env_command_run(int argc, char **argv);

#endif

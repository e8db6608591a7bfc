/* SPDX-License-Identifier: MIT */
/* metrics_command.h: `mlaunch metrics`; struct subcommand says what it takes and returns. */
#ifndef LAUNCHER_TOOLS_METRICS_METRICS_COMMAND_H
#define LAUNCHER_TOOLS_METRICS_METRICS_COMMAND_H

int metrics_command_run(int argc, char **argv);

#endif

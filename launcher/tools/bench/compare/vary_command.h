/* SPDX-License-Identifier: MIT */
/* vary_command.h: `mlaunch bench … --vary`: the same measurement with and without an option, in
 * turns, and whether that makes a difference. */
#ifndef LAUNCHER_TOOLS_BENCH_COMPARE_VARY_COMMAND_H
#define LAUNCHER_TOOLS_BENCH_COMPARE_VARY_COMMAND_H

#include <stdbool.h>

/* argv[1] is "bench". */
bool vary_command_is(int argc, char *const *argv);

/* Returns mlaunch's exit status: that of a run that failed, or 0. */
int vary_command_run(int argc, char *const *argv);

#endif

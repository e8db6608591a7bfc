/* SPDX-License-Identifier: MIT */
/* vary_command.h: `mlaunch bench … --vary`: the same measurement with and without an option, in
 * turns, and whether that makes a difference. */
#ifndef LAUNCHER_TOOLS_BENCH_COMPARE_VARY_COMMAND_H
#define LAUNCHER_TOOLS_BENCH_COMPARE_VARY_COMMAND_H

#include "launcher/input/options/command_line.h"
#include "launcher/tools/bench/command/bench_options.h"

/* Returns mlaunch's exit status: that of a run that failed, or 0. */
int vary_command_run(const char *mlaunch, const struct command_line *line,
                     const struct bench_options *o);

#endif

/* SPDX-License-Identifier: MIT */
/* compare_command.h: what `mlaunch bench` does to compare results; all return mlaunch's exit
 * status. */
#ifndef LAUNCHER_TOOLS_BENCH_COMPARE_COMPARE_COMMAND_H
#define LAUNCHER_TOOLS_BENCH_COMPARE_COMPARE_COMMAND_H

#include "launcher/input/options/command_line.h"
#include "launcher/tools/bench/command/bench_options.h"

/* `mlaunch bench --compare A.json B.json`: two saved results side by side. 1: B is slower anywhere
 * by more than noise. */
int compare_command_run(const struct command_line *line, const struct bench_options *o);

/* `mlaunch bench … --vary`: the same measurement with and without an option, in turns, and whether
 * that makes a difference. The status is that of a run that failed, or 0. */
int vary_command_run(const char *mlaunch, const struct command_line *line,
                     const struct bench_options *o);

#endif

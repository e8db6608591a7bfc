/* SPDX-License-Identifier: MIT */
/* compare_command.h: `mlaunch bench --compare A.json B.json`: two saved results side by side. */
#ifndef LAUNCHER_TOOLS_BENCH_COMPARE_COMPARE_COMMAND_H
#define LAUNCHER_TOOLS_BENCH_COMPARE_COMPARE_COMMAND_H

#include "launcher/input/options/command_line.h"
#include "launcher/tools/bench/command/bench_options.h"

/* Returns mlaunch's exit status: 1 if B is slower anywhere by more than noise. */
int compare_command_run(const struct command_line *line, const struct bench_options *o);

#endif

/* SPDX-License-Identifier: MIT */
/* compare_command.h: `mlaunch bench --compare A.json B.json`: two saved results side by side. */
#ifndef LAUNCHER_TOOLS_BENCH_COMPARE_COMPARE_COMMAND_H
#define LAUNCHER_TOOLS_BENCH_COMPARE_COMPARE_COMMAND_H

#include <stdbool.h>

/* argv[1] is "bench". */
bool compare_command_is(int argc, char *const *argv);

/* Returns mlaunch's exit status: 1 if B is slower anywhere by more than noise. */
int compare_command_run(int argc, char *const *argv);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * bench_command.h: turns `mlaunch bench …` into the command line of the mlaunch that runs the job,
 * whose program is mlaunch-bench:
 *
 *     mlaunch bench-job RANKS [OPTION FILE]... run … -- mlaunch-bench …
 *
 * RANKS is how many ranks there are if nothing says how many; rank 0 will write each FILE.
 */
#ifndef LAUNCHER_TOOLS_BENCH_COMMAND_BENCH_COMMAND_H
#define LAUNCHER_TOOLS_BENCH_COMMAND_BENCH_COMMAND_H

#include "common/fault.h"

/* argv[1] is "bench"; the options of bench and of run may be mixed. Stores the words in *out,
 * NULL-terminated, owned by the caller: those of bench come last, behind the program.
 * ML_ERR_ARGUMENT: an option of bench is wrong; those of run are not checked. */
int bench_command_words(char ***out, int argc, char *const *argv, struct fault *why);

/* Prints to stdout. */
void bench_command_print_help(void);

#endif

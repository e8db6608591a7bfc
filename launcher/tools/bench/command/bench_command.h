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

#include "launcher/input/options/command_line.h"
#include "launcher/tools/bench/command/bench_options.h"

/* argv[1] is "bench"; the options of bench and of run may be mixed. On success the caller clears
 * *out. ML_ERR_ARGUMENT; ML_ERR_MEMORY. One call at a time. */
int bench_command_read(struct command_line *out, struct bench_reading *r, int argc,
                       char *const *argv, struct fault *why);

/* Makes the job's words of the same. Stores them in *out, NULL-terminated, owned by the caller:
 * those of bench come last, behind the program. ML_ERR_ARGUMENT: an option of bench is wrong; the
 * values of run's are not checked. */
int bench_command_words(char ***out, int argc, char *const *argv, struct fault *why);

/* Prints to stdout. */
void bench_command_print_help(void);

#endif

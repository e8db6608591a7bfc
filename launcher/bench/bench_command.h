/* SPDX-License-Identifier: MIT */
/* bench_command.h: turns `mlaunch bench …` into the command line of a job whose program is
 * mlaunch-bench. */
#ifndef LAUNCHER_BENCH_BENCH_COMMAND_H
#define LAUNCHER_BENCH_BENCH_COMMAND_H

#include "common/fault.h"

/* argv[1] is "bench"; the options of bench and of run may be mixed. Stores the words of the job's
 * command line in *out, NULL-terminated, owned by the caller. ML_ERR_ARGUMENT: an option of bench
 * is wrong; those of run are not checked. */
int bench_command_words(char ***out, int argc, char *const *argv, struct fault *why);

/* Prints to stdout. */
void bench_command_print_help(void);

#endif

/* SPDX-License-Identifier: MIT */
/* bench_command.h: `mlaunch bench …` as the command line of a job whose program is mlaunch-bench. */
#ifndef LAUNCHER_BENCH_BENCH_COMMAND_H
#define LAUNCHER_BENCH_BENCH_COMMAND_H

#include "common/fault.h"

/* argv[1] is "bench"; its options and run's may stand in any order. *out: the words of the job's command line, owned,
 * NULL-terminated. ML_ERR_ARGUMENT: bench's options make no sense; run's are not looked at. */
int bench_command_words(char ***out, int argc, char *const *argv, struct fault *why);

void bench_command_print_help(void);

#endif

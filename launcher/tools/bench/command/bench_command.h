/* SPDX-License-Identifier: MIT */
/* bench_command.h: turns `mlaunch bench …` into the command line of a job whose program is
 * mlaunch-bench. */
#ifndef LAUNCHER_TOOLS_BENCH_COMMAND_BENCH_COMMAND_H
#define LAUNCHER_TOOLS_BENCH_COMMAND_BENCH_COMMAND_H

#include "common/fault.h"

/* argv[1] is "bench"; the options of bench and of run may be mixed. Stores the words of the job's
 * command line in *out, NULL-terminated, owned by the caller: those of bench come last, behind the
 * program. ML_ERR_ARGUMENT: an option of bench is wrong; those of run are not checked. */
int bench_command_words(char ***out, int argc, char *const *argv, struct fault *why);

/* Returns how many ranks measure what `words`, bench's part of the job's words, ask for, if nothing
 * says how many: one for each core that this process may use, and two at least; two where only two
 * take part. */
int bench_command_ranks(char *const *words);

/* Checks, if rank 0 runs here, in this directory, that the files of results can be made. `words` as
 * above. ML_ERR_ARGUMENT, ML_ERR_SYSTEM. */
int bench_command_check_files(char *const *words, struct fault *why);

/* Prints to stdout. */
void bench_command_print_help(void);

#endif

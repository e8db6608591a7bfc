/* SPDX-License-Identifier: MIT */
/* child_output.h: runs mlaunch once more, as a child that the terminal's signals reach as well, and
 * keeps what it prints. */
#ifndef LAUNCHER_TOOLS_BENCH_COMPARE_CHILD_OUTPUT_H
#define LAUNCHER_TOOLS_BENCH_COMPARE_CHILD_OUTPUT_H

#include "common/fault.h"

#include <stddef.h>

/* Runs mlaunch with `argv` to its end; a signal that asks this process to end goes to the
 * child instead. *text: its standard output, owned by the caller, *size bytes and a final 0.
 * *status: its exit status, or 128 and the signal that ended it. ML_ERR_SYSTEM, ML_ERR_MEMORY: it
 * could not be run. One call at a time. */
int child_output_run(char *const argv[], char **text, size_t *size, int *status, struct fault *why);

#endif

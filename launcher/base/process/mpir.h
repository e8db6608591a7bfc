/* SPDX-License-Identifier: MIT */
/*
 * mpir.h: the ranks as debuggers of parallel programs look for them in a launcher: the symbols of
 * "The MPIR Process Acquisition Interface", version 1.1, which DDT, TotalView, STAT and gdb4hpc
 * read from the process of mlaunch. They are in the dynamic symbol table, so they outlive strip.
 *
 * A debugger that starts mlaunch sets MPIR_being_debugged before main(): then the ranks stay
 * stopped at their first instruction until MPIR_Breakpoint has returned.
 */
#ifndef LAUNCHER_BASE_PROCESS_MPIR_H
#define LAUNCHER_BASE_PROCESS_MPIR_H

#include "common/fault.h"

#include <stdbool.h>

/* Whether a debugger has started this mlaunch, or has attached to it. */
bool mpir_is_debugged(void);

/* Begins a table of `size` ranks instead of the last one, which nobody sees until mpir_show.
 * ML_ERR_MEMORY. */
int mpir_begin(int size, struct fault *why);
/* Copies the strings. A rank that is not set, or is out of memory, has no names and pid 0. */
void mpir_set(int rank, const char *host, const char *program, int pid);
/* Shows the table: all ranks have started. With a debugger it returns when that lets it go on. */
void mpir_show(void);

/* Tells the debugger that the job ends because of a failure. */
void mpir_abort(const char *why);

#endif

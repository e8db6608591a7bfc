/* SPDX-License-Identifier: MIT */
/*
 * trace_file.h: `--trace FILE`: the calls of all ranks as a trace in Chrome's JSON form, which
 * ui.perfetto.dev and chrome://tracing open. A process is a rank, a row one of its threads. Calls
 * of a thread that are under way at once have rows of their own, since slices of a row must nest.
 * An arrow goes from a message's send to its receive: both compute its name by counting the
 * messages between them, so nothing has to be kept for it.
 */
#ifndef LAUNCHER_RUN_RECORD_TRACE_FILE_H
#define LAUNCHER_RUN_RECORD_TRACE_FILE_H

#include "common/fault.h"
#include "common/rank_calls.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct trace_file;

/* Writes to `f`, which stays the caller's; `size` ranks. Times count from now. ML_ERR_MEMORY. */
int trace_file_open(struct trace_file **out, FILE *f, int size, struct fault *why);
/* Ends the JSON; takes NULL. */
void trace_file_close(struct trace_file *t);

/* Adds calls of a rank, in the order in which they began, in ns of this machine's clock, which may
 * be wrong by error_ns. run: how many runs of the job came before. */
void trace_file_add(struct trace_file *t, int rank, int run, const char *host, int64_t error_ns,
                    const struct rank_call *calls, size_t count);

#endif

/* SPDX-License-Identifier: MIT */
/* abort.h: ml_abort, by which one rank ends the whole job. */
#ifndef RUNTIME_ABORT_H
#define RUNTIME_ABORT_H

/* Tells the coordinator, waits a moment for its answer, and exits with `status` (1 if the exit
 * status would be 0). `why` may be NULL. Any thread may call it. */
__attribute__((noreturn)) void abort_job(int status, const char *why);

#endif

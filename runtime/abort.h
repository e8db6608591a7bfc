/* SPDX-License-Identifier: MIT */
/* abort.h: the end of the whole job at one rank's word. */
#ifndef RUNTIME_ABORT_H
#define RUNTIME_ABORT_H

/* Tells the coordinator and waits a moment for it to have heard; then this process exits. */
__attribute__((noreturn)) void abort_job(int status, const char *why);

#endif

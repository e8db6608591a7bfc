/* SPDX-License-Identifier: MIT */
/*
 * output_fold.h: shows once what many ranks write to standard error because another one has failed.
 *
 * From the failure on, what a rank writes is held back until its standard error ends. If another
 * rank has written the same, it is left out, and a line at the end of the job names the rank;
 * otherwise it is written out. It is also written out when it becomes too long or its time is over,
 * so that nothing is lost and nothing waits for long. Used by one thread.
 */
#ifndef LAUNCHER_RUN_STDIO_OUTPUT_FOLD_H
#define LAUNCHER_RUN_STDIO_OUTPUT_FOLD_H

#include <stdbool.h>
#include <stddef.h>

enum { OUTPUT_FOLD_MAX = 16 << 10 /* bytes of a rank that are held back */ };

struct output_fold;

/* write: writes bytes of a rank that were held back. NULL: out of memory. */
struct output_fold *
output_fold_create(int ranks, void (*write)(int rank, const char *bytes, size_t size, void *arg),
                   void *arg);
void output_fold_destroy(struct output_fold *f); /* takes NULL */

/* A failure is known. failed: the rank whose output is not held back; -1: none. */
void output_fold_begin(struct output_fold *f, int failed);

/* Bytes that a rank wrote; size 0: the end of its standard error. True: they are held back. False:
 * the caller writes them, after what was held back, which has been written then. */
bool output_fold_hold(struct output_fold *f, int rank, const char *bytes, size_t size);

/* Writes all that is held back. From now on nothing is. */
void output_fold_release(struct output_fold *f);

/* All ranks have ended: releases, and calls `say` for each text that was left out, with "ranks 2-7"
 * and the rank that had written the same. Then everything is forgotten. */
void output_fold_end(struct output_fold *f, void (*say)(const char *ranks, int same_as, void *arg),
                     void *arg);

#endif

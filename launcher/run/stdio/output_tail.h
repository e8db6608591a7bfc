/* SPDX-License-Identifier: MIT */
/* output_tail.h: the end of what each rank wrote to standard error, to be shown if the rank
 * fails. */
#ifndef LAUNCHER_RUN_STDIO_OUTPUT_TAIL_H
#define LAUNCHER_RUN_STDIO_OUTPUT_TAIL_H

#include <stddef.h>

enum { OUTPUT_TAIL = 1024 /* bytes kept of each rank */ };

struct output_tail;

/* NULL: out of memory. Used by one thread. */
struct output_tail *output_tail_create(int ranks);
void output_tail_destroy(struct output_tail *t); /* takes NULL */

/* Bytes that the rank wrote. */
void output_tail_note(struct output_tail *t, int rank, const char *bytes, size_t size);

/* The ranks start again: what they wrote is forgotten. */
void output_tail_forget(struct output_tail *t);

/* Stores the last lines, whole ones if there are any, without the final newline, in at most size -
 * 1 bytes and a NUL. "": the rank has written nothing. */
void output_tail_text(const struct output_tail *t, int rank, char *text, size_t size);

#endif

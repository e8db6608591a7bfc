/* SPDX-License-Identifier: MIT */
/* output_tail.h: the end of what each rank wrote to stderr, for the sentence about the one that failed. */
#ifndef LAUNCHER_STDIO_OUTPUT_TAIL_H
#define LAUNCHER_STDIO_OUTPUT_TAIL_H

#include <stddef.h>

enum { OUTPUT_TAIL = 1024 /* bytes of each rank that are kept */ };

struct output_tail;

/* NULL: out of memory. */
struct output_tail *output_tail_create(int ranks);
void output_tail_destroy(struct output_tail *t); /* takes NULL */

void output_tail_note(struct output_tail *t, int rank, const char *bytes, size_t size);

/* The last lines, whole ones if there are any, without the newline behind them; "": nothing was written. */
void output_tail_text(const struct output_tail *t, int rank, char *text, size_t size);

#endif

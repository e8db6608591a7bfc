/* SPDX-License-Identifier: MIT */
/*
 * output_merge.h: with --output fold, makes one line of what ranks of several hosts write alike
 * within a moment; the agents have folded what the ranks of each host write
 * (launcher/wire/protocol/line_fold.h). Used on the loop.
 */
#ifndef LAUNCHER_RUN_STDIO_OUTPUT_MERGE_H
#define LAUNCHER_RUN_STDIO_OUTPUT_MERGE_H

#include "common/fault.h"
#include "launcher/wire/protocol/line_fold.h"

struct event_base;
struct output_merge;

/* Lines, or bytes of one rank, whose `cost` is the host's to get back once they are written; with
 * size 0 the end of the first rank's stream. ranks NULL: the host gets `cost` back now. */
typedef void output_merge_on_lines(int host, const struct line_ranks *ranks, int stream,
                                   const char *bytes, size_t size, uint32_t cost, void *arg);

/* ML_ERR_MEMORY. */
int output_merge_open(struct output_merge **out, struct event_base *base, int ranks, int hold_ms,
                      output_merge_on_lines *on_lines, void *arg, struct fault *why);
void output_merge_close(struct output_merge *m); /* drops what it holds; takes NULL */

/* What an agent has sent: whole lines of several ranks; bytes of one, or its end. */
void output_merge_lines(struct output_merge *m, int host, const struct line_ranks *ranks,
                        int stream, const char *bytes, size_t size, uint32_t cost);
void output_merge_piece(struct output_merge *m, int host, int rank, int stream, const void *bytes,
                        size_t size, uint32_t cost);

/* The run is over: all is given out; another run may begin. Takes NULL. */
void output_merge_flush(struct output_merge *m);

#endif

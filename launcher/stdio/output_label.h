/* SPDX-License-Identifier: MIT */
/*
 * output_label.h: ranks' streams cut into lines, each with the time and the rank before it.
 *
 * A line is written whole. One that isn't finished is held back until it is, until the output has
 * been silent for a moment (so that prompts appear), or until it is 1 MiB long. Once a part of it
 * stands there, the rest follows without a label if nothing came between; else the unfinished line
 * is ended and the rest gets its label again.
 */
#ifndef LAUNCHER_STDIO_OUTPUT_LABEL_H
#define LAUNCHER_STDIO_OUTPUT_LABEL_H

#include "launcher/stdio/output_file.h"

#include <stdint.h>

enum { LABEL_LINE_MAX = 1 << 20 /* bytes of a line that are held back */ };

struct output_label; /* the line state of all ranks' streams; used by one thread */

/* `streams` is how many there are; `with_rank`: "[rank] ", `with_time`: the time. */
int output_label_create(struct output_label **out, int streams, bool with_rank, bool with_time,
                        struct fault *why);
void output_label_destroy(struct output_label *l); /* takes NULL */

/* What came from a rank: bytes, at `at_ns` (CLOCK_REALTIME). stream: any number below `streams`. */
void output_label_write(struct output_label *l, struct output_buffer *b, struct output_file *f,
                        int stream, int rank, int64_t at_ns, const char *bytes, size_t size);

/* That stream's end: an unfinished line is shown and ended. */
void output_label_end(struct output_label *l, struct output_buffer *b, struct output_file *f,
                      int stream, int rank);

/* At each silence: whether the stream holds a part of a line that should be shown now. What came at the end of a large
 * piece of output is surely going on, and waits for some more silences. */
bool output_label_is_due(struct output_label *l, int stream);

/* Shows the unfinished line of a stream, without an end. */
void output_label_show(struct output_label *l, struct output_buffer *b, struct output_file *f,
                       int stream, int rank);

/* Whether any stream holds back a part of a line. */
bool output_label_holds_any(const struct output_label *l);

#endif

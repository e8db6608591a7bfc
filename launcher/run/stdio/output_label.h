/* SPDX-License-Identifier: MIT */
/*
 * output_label.h: cuts the ranks' streams into lines, and puts the time and the rank before each.
 *
 * A line is written whole. An unfinished line is held back until it is finished, or until it is 1
 * MiB long; on a terminal only until the output has been silent for a moment, so that prompts
 * appear. Once a part of it has been written, the rest follows without a label if nothing else was
 * written in between. Otherwise the part is ended, and the rest gets a label of its own. Behind a
 * '\r' within a line its label is repeated. What a '\r' ends (a progress bar's last state) is shown
 * after a silence everywhere.
 */
#ifndef LAUNCHER_RUN_STDIO_OUTPUT_LABEL_H
#define LAUNCHER_RUN_STDIO_OUTPUT_LABEL_H

#include "launcher/run/stdio/output_file.h"

#include <stdint.h>

enum { LABEL_LINE_MAX = 1 << 20 /* bytes of a line that are held back */ };

struct output_label; /* the lines of all ranks' streams; used by one thread */

/* streams: their number. with_rank: labels are "[rank] "; with_time: with the time before.
 * ML_ERR_MEMORY. */
int output_label_create(struct output_label **out, int streams, bool with_rank, bool with_time,
                        struct fault *why);
/* Labels are "[name] ": names[rank], which must outlive it. */
void output_label_use_names(struct output_label *l, const char *const *names);
void output_label_destroy(struct output_label *l); /* takes NULL */

/* Bytes that a rank wrote at at_ns (CLOCK_REALTIME). stream: below `streams`, of the caller's
 * choice. */
void output_label_write(struct output_label *l, struct output_buffer *b, struct output_file *f,
                        int stream, int rank, int64_t at_ns, const char *bytes, size_t size);

/* Lines of several ranks, which `ranks` lists: each ends with a newline, or is a state of a line,
 * which ends with a carriage return. */
void output_label_put_lines(struct output_label *l, struct output_buffer *b, struct output_file *f,
                            const char *ranks, size_t ranks_size, int64_t at_ns, const char *bytes,
                            size_t size);
/* Ends a line whose last state is at the end of the file. */
void output_label_end_lines(const struct output_label *l, struct output_buffer *b,
                            struct output_file *f);

/* The end of a stream: writes and ends its unfinished line. */
void output_label_end(struct output_label *l, struct output_buffer *b, struct output_file *f,
                      int stream, int rank);

/* Call it once at each silence: whether the stream holds a part of a line that should be
 * written now. After a large piece of output the rest of the line is surely on its way, so its part
 * waits for some more silences: then *again becomes true. */
bool output_label_is_due(struct output_label *l, const struct output_file *f, int stream,
                         bool *again);

/* Writes what may be shown of the unfinished line of a stream, and does not end it. */
void output_label_show(struct output_label *l, struct output_buffer *b, struct output_file *f,
                       int stream, int rank);

/* Writes "2026-11-21T01:08:23.125+01:00 ", the local time as in labels. */
enum { LABEL_TIME = 64 };
void output_label_format_time(char out[LABEL_TIME], int64_t at_ns);
int64_t output_label_now_ns(void); /* CLOCK_REALTIME */

/* Whether any stream holds back a part of a line. */
bool output_label_holds_any(const struct output_label *l);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * output_lane.h: the lanes that output takes to where it is written. A lane is a writer's thread
 * (writer.h) with what it alone uses. There is one for standard output, one for standard error
 * unless both are the same file, and one for the files of --output dir. Nothing here blocks the
 * loop. All calls on the loop's thread, except those that say "any thread".
 */
#ifndef LAUNCHER_RUN_STDIO_OUTPUT_LANE_H
#define LAUNCHER_RUN_STDIO_OUTPUT_LANE_H

#include "launcher/input/plan/plan.h"
#include "launcher/wire/protocol/line_fold.h"

struct event_base;
struct output_lanes; /* those of one mlaunch */
struct terminal;

/* In place of a host: the bytes have been acknowledged already. */
enum { OUTPUT_LANE_ANSWERED = -2 };

/* As struct output_events says. */
struct output_lane_events {
    void (*on_credit)(int host, uint32_t bytes, void *arg);
    void (*on_failed)(const struct fault *why, void *arg);
    void (*on_written)(void *arg);
    void *arg;
};

/* The arguments are those of output_open(); `names` are the ranks' labels, or NULL for their
 * numbers. ML_ERR_SYSTEM, ML_ERR_MEMORY. */
int output_lane_open(struct output_lanes **out, struct event_base *base, const struct plan *p,
                     const char *job, const struct terminal *terminal, const char *const *names,
                     const struct output_lane_events *events, struct fault *why);
void output_lane_close(struct output_lanes *l); /* drops what has not been written; takes NULL */

/* Bytes of a rank's stream 1 or 2, which are copied; size 0: its end. They took `cost` of the
 * host's window, which on_credit reports once they are written. */
void output_lane_write(struct output_lanes *l, int host, int rank, int stream, const void *bytes,
                       size_t size, uint32_t cost);
/* The same with lines that several ranks have written, or a piece of one. */
void output_lane_write_lines(struct output_lanes *l, int host, const struct line_ranks *ranks,
                             int stream, const char *bytes, size_t size, uint32_t cost);
/* Reports to the host by on_credit what will not be written, or not yet. */
void output_lane_acknowledge(struct output_lanes *l, int host, uint32_t cost);

/* Writes a line of mlaunch itself, with its newline, to standard error. False: no thread could be
 * started to write it, or there is no memory, which on_failed reports. Any thread. */
bool output_lane_say(struct output_lanes *l, const char *line, size_t size);
/* As output_progress(), output_on_typed_line() and output_finish() say. */
void output_lane_progress(struct output_lanes *l, const char *text);
void output_lane_on_typed_line(struct output_lanes *l);
void output_lane_finish(struct output_lanes *l);

/* on_failed reports it, if it is the first failure. Any thread. */
void output_lane_fail(struct output_lanes *l, const struct fault *why);

/* These are as output.h says. */
bool output_lane_has_terminal(const struct output_lanes *l);
size_t output_lane_written(const struct output_lanes *l);
size_t output_lane_waiting(struct output_lanes *l);
bool output_lane_is_idle(struct output_lanes *l);
bool output_lane_is_behind(struct output_lanes *l);             /* any thread */
size_t output_lane_ends_with(struct output_lanes *l, int rank); /* any thread */

/* The path of the file of a rank's standard error, valid until output_lane_close(); NULL: it has
 * none of its own. */
const char *output_lane_path(struct output_lanes *l, int rank);
const char *output_lane_kind(const struct output_lanes *l); /* for -vv: what is written how */
bool output_lane_is_one_file(const struct output_lanes *l); /* standard output and error are */

#endif

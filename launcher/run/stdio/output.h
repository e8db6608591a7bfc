/* SPDX-License-Identifier: MIT */
/*
 * output.h: writes the ranks' output, with labels or raw, to standard output and error or to a
 * directory of files, and mlaunch's own lines in between. Nothing here blocks the loop: threads do
 * the writing (writer.h), one for standard output, one for standard error unless both are the same
 * file, and one for a directory. All calls on the loop's thread, but output_say on any.
 */
#ifndef LAUNCHER_RUN_STDIO_OUTPUT_H
#define LAUNCHER_RUN_STDIO_OUTPUT_H

#include "launcher/input/plan/plan.h"
#include "launcher/wire/protocol/line_fold.h"

struct event_base;
struct output;
struct terminal;

/* Called on the loop, but on_written. */
struct output_events {
    /* More of the host's OUTPUT has been written, which took that many bytes of its window. */
    void (*on_credit)(int host, uint32_t bytes, void *arg);
    /* Called once, for the first failure: the reader of standard output or error is gone
     * (ML_ERR_PEER), or writing failed (ML_ERR_SYSTEM). What would go to that file is dropped from
     * then on. */
    void (*on_failed)(const struct fault *why, void *arg);
    /* On the thread that writes to standard output, between two writes: what has come so far is
     * written. Or NULL. */
    void (*on_written)(void *arg);
    void *arg;
};

/* Gets what ranks write before it is written. All on the loop. */
struct output_sink {
    const char *const *names; /* the ranks' labels, or NULL for their numbers */
    /* Bytes of a rank's stream; size 0: its end. 1: it has kept them; 0: they are to be written,
     * as what output_pass() gets meanwhile was. Negative: it fails, as by on_failed. */
    int (*on_bytes)(struct output *o, int rank, int stream, const void *bytes, size_t size,
                    void *arg, struct fault *why);
    void *arg;
};

/* Makes the files for OUTPUT_DIR, whose names may contain `job`. Until output_close, mlaunch's log
 * lines are also written through here. `terminal` is that of --pty, which must outlive the output:
 * while it is in raw mode, lines that go to a terminal end with "\r\n", but what the rank with the
 * terminal writes is not changed. NULL: there is none. `sink` is copied, or
 * NULL. ML_ERR_SYSTEM, ML_ERR_MEMORY. */
int output_open(struct output **out, struct event_base *base, const struct plan *p, const char *job,
                const struct terminal *terminal, const struct output_sink *sink,
                const struct output_events *events, struct fault *why);

/* Drops what has not been written (see output_is_idle). Takes NULL. */
void output_close(struct output *o);

/* The ranks start again, after output_finish(): last words are those of the new run. */
void output_restart(struct output *o);

/* Bytes of a rank's stream 1 or 2; size 0: its end. on_credit reports them once they are
 * written. */
void output_write(struct output *o, int host, int rank, int stream, const void *bytes, size_t size);

/* Whole lines that several ranks have written (--output fold). cost: what they took of the host's
 * window. */
void output_write_folded(struct output *o, int host, const struct line_ranks *ranks, int stream,
                         const void *bytes, size_t size, uint32_t cost);

/* Writes what a sink has kept of a rank's stream. */
void output_pass(struct output *o, int rank, int stream, const void *bytes, size_t size);

/* A rank (-1: a host) has failed, and the others are being ended. For OUTPUT_LABEL without -v: what
 * several of them write alike to standard error is then shown once (output_fold.h). */
void output_fold_others(struct output *o, int failed);

/* Call it when the user has typed a line: the terminal's cursor is at the beginning of a line
 * again, whatever a rank had written before. */
void output_on_typed_line(struct output *o);

/* Call it when all ranks have ended: writes and ends the lines that some left unfinished, and
 * names the ranks whose output was left out. */
void output_finish(struct output *o);

/* Writes "mlaunch: ", a line without its newline, and a newline to standard error, in order with
 * the ranks' output there. */
void output_say(struct output *o, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The same about one rank: the sink gets it as if the rank had written it. */
void output_say_of(struct output *o, int rank, const char *text);

/* If standard error is a terminal, shows `text` as the last line, until anything else is written;
 * NULL removes it. */
void output_progress(struct output *o, const char *text);
bool output_has_terminal(const struct output *o);

/* So many of mlaunch's own lines wait to be written that what an agent says should be left out. */
bool output_is_behind(struct output *o);

/* Bytes written so far, of all files: unchanged while no reader takes anything. */
size_t output_written(const struct output *o);
/* Bytes of the ranks that output_write got and that are not known to have been written. */
size_t output_waiting(struct output *o);

/* Everything has been written. The loop wakes up whenever this may have become true. */
bool output_is_idle(struct output *o);

/* How many of the bytes at the end of standard error (or of the one file that standard output and
 * error are) the rank wrote to standard error, with nothing between; rank -1: mlaunch itself. Bytes
 * that have yet to be written count as written. Any thread. */
size_t output_ends_with(struct output *o, int rank);

/* Stores the last lines that a rank wrote to standard error, at most size - 1 bytes and a NUL.
 * Returns the path of its file (valid until close) for OUTPUT_DIR, NULL in the other modes. */
const char *output_last_words(struct output *o, int rank, char *text, size_t size);

#endif

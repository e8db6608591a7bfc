/* SPDX-License-Identifier: MIT */
/*
 * output.h: where the ranks' output goes: with labels or raw to standard output and error, or to a
 * directory of files; and what mlaunch itself has to say in between. Nothing here blocks the loop:
 * writing is done by threads (writer.h), one a file behind 1 and 2 (one for both if they are the
 * same), one for a directory.
 */
#ifndef LAUNCHER_STDIO_OUTPUT_H
#define LAUNCHER_STDIO_OUTPUT_H

#include "launcher/plan/plan.h"

struct event_base;
struct output;

/* Called on the loop's thread. */
struct output_events {
    /* So many bytes of that host's OUTPUT payload have been written out. */
    void (*on_credit)(int host, uint32_t bytes, void *arg);
    /* Once: the reader of standard output or error is gone (why->code ML_ERR_PEER), or writing
     * failed (ML_ERR_SYSTEM, a sentence). Whatever would go there is dropped from then on. */
    void (*on_failed)(const struct fault *why, void *arg);
    void *arg;
};

/* Makes the directory and its files for OUTPUT_DIR. mlaunch's log lines go through here from now
 * on, until output_close. */
int output_open(struct output **out, struct event_base *base, const struct plan *p,
                const struct output_events *events, struct fault *why);

/* Drops what hasn't been written: see output_is_idle. Takes NULL. */
void output_close(struct output *o);

/* Bytes of a rank's stream 1 or 2; none: its end. on_credit will tell of them. */
void output_write(struct output *o, int host, int rank, int stream, const void *bytes, size_t size);

/* The user has typed a line: the terminal's cursor stands at the beginning of a line, whatever a rank had
 * written before. */
void output_on_typed_line(struct output *o);

/* All ranks have ended: shows and ends the lines that some left unfinished. */
void output_finish(struct output *o);

/* A line of mlaunch's own, without a newline, to standard error, in order with the ranks' output
 * there. "mlaunch: " is put before it. */
void output_say(struct output *o, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* On a terminal: `text` is shown as the last line until something else is, or a new text; NULL:
 * gone. */
void output_progress(struct output *o, const char *text);
bool output_has_terminal(const struct output *o);

/* Everything has been written. Loop callbacks come whenever this may have become true. */
bool output_is_idle(struct output *o);

/* The last lines that a rank wrote to standard error, at most `size` - 1 bytes, terminated; and OUTPUT_DIR: the path of
 * the file where they are (valid until close), NULL in the other modes. */
const char *output_last_words(struct output *o, int rank, char *text, size_t size);

#endif

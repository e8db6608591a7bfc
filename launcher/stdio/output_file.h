/* SPDX-License-Identifier: MIT */
/*
 * output_file.h: something that output is written to (standard output, a rank's file), and the
 * buffer in front of it. Used by one writer thread. The descriptor may be anything, shared with
 * others and slow: it is never made non-blocking, writes simply take their time.
 */
#ifndef LAUNCHER_STDIO_OUTPUT_FILE_H
#define LAUNCHER_STDIO_OUTPUT_FILE_H

#include "common/fault.h"
#include "launcher/process/side_thread.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

enum { OUTPUT_BUFFER = 256 << 10 };

/* One a writer: what is in it belongs to `file`. */
struct output_buffer {
    char *bytes; /* OUTPUT_BUFFER of them */
    size_t used;
    struct output_file *file;
    struct side_thread *thread; /* which writes */
    /* Once a file: what couldn't be written. The file takes and drops everything from then on. */
    void (*on_failed)(int err, const struct output_file *file, void *arg);
    void *arg;
};

struct output_file {
    int fd;
    const char *name; /* "standard output", or the path; for messages */
    bool is_terminal;
    bool failed;
    bool mid_line;         /* the last byte was no newline */
    const void *open_line; /* output_label.c: whose unfinished line stands at the end */
    bool shows_progress;   /* output.c: the terminal's last line is our progress line */
};

/* Writes out what `b` holds. */
void output_file_flush(struct output_buffer *b);

/* For what doesn't fit: use output_file_put. */
void output_file_put_large(struct output_buffer *b, struct output_file *f, const char *bytes,
                           size_t size);

/* Appends to `f` through `b`. */
static inline void output_file_put(struct output_buffer *b, struct output_file *f,
                                   const char *bytes, size_t size)
{
    if (b->file == f && size <= OUTPUT_BUFFER / 4 && size <= OUTPUT_BUFFER - b->used) {
        memcpy(b->bytes + b->used, bytes, size);
        b->used += size;
    } else {
        output_file_put_large(b, f, bytes, size);
    }
}

#endif

/* SPDX-License-Identifier: MIT */
/*
 * output_file.h: a file that output is written to (standard output, a rank's file), and the buffer
 * in front of it. Used by one writer thread. The descriptor may be of any kind, slow, and shared
 * with other programs, so it is never made non-blocking: a write may block.
 */
#ifndef LAUNCHER_RUN_STDIO_OUTPUT_FILE_H
#define LAUNCHER_RUN_STDIO_OUTPUT_FILE_H

#include "common/fault.h"
#include "launcher/base/process/side_thread.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

enum { OUTPUT_BUFFER = 256 << 10 };

/* One for each writer. */
struct output_buffer {
    char *bytes; /* OUTPUT_BUFFER of them */
    size_t used;
    struct output_file *file;   /* where the bytes belong */
    struct side_thread *thread; /* the one that writes */
    atomic_size_t written;      /* bytes so far; any thread may read it */
    /* Called once for each file that could not be written (errno). Whatever is put to it afterwards
     * is dropped. */
    void (*on_failed)(int err, const struct output_file *file, void *arg);
    void *arg;
};

struct output_file {
    int fd;
    const char *name; /* "standard output", or the path; for messages */
    bool is_terminal;
    bool failed;
    bool mid_line;         /* the last byte written was not a newline */
    const void *open_line; /* output_label.c: the unfinished line at its end, or NULL */
    bool shows_progress;   /* output_lane.c: the terminal's last line is a progress line */
    bool is_verbatim;      /* output_lane.c: the bytes are of the rank that has the terminal */
    const struct terminal *terminal; /* for --pty, or NULL: whether lines need "\r\n" */
};

/* Writes what `b` holds. */
void output_file_flush(struct output_buffer *b);

/* Only for output_file_put: what does not fit, or belongs to another file. */
void output_file_put_large(struct output_buffer *b, struct output_file *f, const char *bytes,
                           size_t size);

/* Appends to `f` through `b`; bytes for another file are flushed first. */
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

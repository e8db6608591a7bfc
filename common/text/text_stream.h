/* SPDX-License-Identifier: MIT */
/* text_stream.h: a stream that is written into memory. open_memstream() of glibc 2.36 does not do
 * where memory ends: fclose() then succeeds with cut text or none at all, and some is leaked. */
#ifndef COMMON_TEXT_TEXT_STREAM_H
#define COMMON_TEXT_TEXT_STREAM_H

#include <stddef.h>
#include <stdio.h>

/* The caller's, from open to close; only for text_stream.c. */
struct text_stream {
    char *text;
    size_t size, room;
};

/* The stream to write to; NULL: out of memory. It cannot be positioned. */
FILE *text_stream_open(struct text_stream *s);
/* Closes it and returns what was written, which the caller frees; NULL: out of memory. */
char *text_stream_close(FILE *to, struct text_stream *s);

#endif

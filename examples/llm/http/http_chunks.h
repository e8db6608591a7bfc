/* SPDX-License-Identifier: MIT */
/*
 * http_chunks.h: looks at a body that comes in chunks, before evhttp reads it. evhttp takes sizes
 * such as "0x2", "+2" or "2 2", and what follows a chunk may be anything; a proxy in front may see
 * another end of the body ("request smuggling"). Sizes that no other can misread are taken here,
 * without extensions, and no fields behind the last chunk (RFC 9112, section 7.1).
 */
#ifndef LLM_HTTP_HTTP_CHUNKS_H
#define LLM_HTTP_HTTP_CHUNKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zeroed at first. */
struct http_chunks {
    int state;
    int digits;    /* the size that is being read has these */
    uint64_t left; /* that size, then the bytes of the chunk that have not come */
    uint64_t size; /* bytes of all chunks */
    bool is_whole;
    int status; /* that of the answer which refuses the body; 0: nothing is wrong yet */
    const char *sentence;
};

/* Takes bytes up to the end of the body, and returns how many these are. The body is over when
 * is_whole or status says so; then nothing more is taken. */
size_t http_chunks_take(struct http_chunks *c, const char *bytes, size_t size);

#endif

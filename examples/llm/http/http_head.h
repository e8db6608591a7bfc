/* SPDX-License-Identifier: MIT */
/*
 * http_head.h: looks at the head of a request as its bytes come, before evhttp reads it. evhttp
 * accepts heads that a proxy in front may read in another way, as two requests for instance
 * ("request smuggling"). They are refused here, by the rules of RFC 9112, sections 3, 5 and 6.
 */
#ifndef LLM_HTTP_HTTP_HEAD_H
#define LLM_HTTP_HTTP_HEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    HTTP_HEAD_MOST = 16 << 10, /* bytes */
    HTTP_BODY_MOST = 4 << 20,
    HTTP_LINE_KEPT = 256, /* the beginning of a line, in which all that matters here is */
};

/* Zeroed at first. */
struct http_head {
    size_t size, line_size;
    uint32_t lines;
    char line[HTTP_LINE_KEPT + 1];
    bool was_return;    /* the last byte */
    bool may_have_body; /* by its method */
    bool has_length, is_chunked, is_whole;
    uint64_t length; /* the body's, if has_length */
    int status;      /* that of the answer which refuses it; 0: nothing is wrong yet */
    const char *sentence;
};

/* Takes bytes up to the end of the head, and returns how many these are. The head is over when
 * is_whole or status says so; then nothing more is taken. */
size_t http_head_take(struct http_head *h, const char *bytes, size_t size);

/* Refuses a request whose body turns out to be wrong. */
void http_head_refuse(struct http_head *h, int status, const char *sentence);

#endif

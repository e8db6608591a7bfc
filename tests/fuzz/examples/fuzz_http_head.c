/* SPDX-License-Identifier: MIT */
/* fuzz_http_head.c: any bytes as the head of a request to llm serve, and what is behind it as its
 * body: in one piece and byte by byte they are read alike; what is accepted has one length, within
 * its bound. */
#include "examples/llm/http/http_chunks.h"
#include "examples/llm/http/http_head.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void chunks_check(const char *text, size_t size)
{
    struct http_chunks whole = {0}, pieces = {0};
    size_t taken = http_chunks_take(&whole, text, size), more = 0;

    for (size_t i = 0; i < size; i++)
        more += http_chunks_take(&pieces, text + i, 1);
    if (more != taken || whole.status != pieces.status || whole.is_whole != pieces.is_whole)
        abort();
    if (taken > size || (taken < size && !whole.is_whole && !whole.status))
        abort();
    if ((whole.status != 0) != (whole.sentence != NULL))
        abort();
    if (whole.is_whole && (whole.size > HTTP_BODY_MOST || whole.size > size))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct http_head whole = {0}, pieces = {0};
    size_t taken = http_head_take(&whole, (const char *)data, size), more = 0;

    for (size_t i = 0; i < size; i++)
        more += http_head_take(&pieces, (const char *)data + i, 1);
    if (more != taken || whole.status != pieces.status || whole.is_whole != pieces.is_whole)
        abort();
    if (taken > size || (taken < size && !whole.is_whole && !whole.status))
        abort();
    if ((whole.status != 0) != (whole.sentence != NULL))
        abort();
    if (whole.is_whole && !whole.status &&
        ((whole.has_length && whole.is_chunked) || whole.length > HTTP_BODY_MOST ||
         (!whole.may_have_body && (whole.is_chunked || whole.length))))
        abort();
    chunks_check((const char *)data + taken, size - taken);
    return 0;
}

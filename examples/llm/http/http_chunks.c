/* SPDX-License-Identifier: MIT */
#include "http_chunks.h"

#include "http_head.h"

#include <string.h>

enum { DIGITS_MOST = 16 };

/* Each of the odd ones awaits the line feed behind a return. */
enum { SIZE, SIZE_RETURN, DATA_END, DATA_RETURN, LAST, LAST_RETURN, DATA };

static void refuse(struct http_chunks *c, int status, const char *sentence)
{
    c->status = status;
    c->sentence = sentence;
}

static void line_end(struct http_chunks *c)
{
    if (c->state <= SIZE_RETURN) {
        c->state = c->left ? DATA : LAST;
        c->size += c->left;
    } else if (c->state <= DATA_RETURN) {
        c->state = SIZE;
        c->digits = 0;
    } else {
        c->is_whole = true;
    }
}

static void size_take(struct http_chunks *c, char byte)
{
    static const char digits[] = "0123456789abcdef0123456789ABCDEF";
    const char *digit = byte ? strchr(digits, byte) : NULL;

    if (!digit || c->digits == DIGITS_MOST) {
        refuse(c, 400, "the size of a chunk must be a hexadecimal number alone");
        return;
    }
    c->left = (c->digits++ ? c->left * 16 : 0) + (uint64_t)(digit - digits) % 16;
    if (c->size + c->left > HTTP_BODY_MOST)
        refuse(c, 413, "the body is longer than the 4 MiB that this server takes");
}

static void byte_take(struct http_chunks *c, char byte)
{
    bool is_size = c->state == SIZE && c->digits;

    if (byte == '\n' && (c->state != SIZE || is_size))
        line_end(c);
    else if (byte == '\r' && c->state % 2 == 0 && (c->state != SIZE || is_size))
        c->state++;
    else if (c->state == SIZE)
        size_take(c, byte);
    else if (c->state == LAST)
        refuse(c, 400, "this server takes no fields behind the last chunk");
    else
        refuse(c, 400, "a chunk does not end where its size says");
}

size_t http_chunks_take(struct http_chunks *c, const char *bytes, size_t size)
{
    size_t i = 0;

    while (i < size && !c->is_whole && !c->status) {
        if (c->state == DATA) {
            size_t n = size - i < c->left ? size - i : (size_t)c->left;

            c->left -= n;
            i += n;
            if (!c->left)
                c->state = DATA_END;
        } else {
            byte_take(c, bytes[i++]);
        }
    }
    return i;
}

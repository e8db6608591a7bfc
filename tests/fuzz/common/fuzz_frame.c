/* SPDX-License-Identifier: MIT */
/*
 * fuzz_frame.c: any bytes as a stream of frames. The first byte sets the size of the pieces in
 * which they arrive, which must make no difference.
 */
#include "common/net/frame.h"

#include <stdlib.h>
#include <string.h>

enum { LIMIT = 4096 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A sum over all frames that come out, and how it ended. */
static uint64_t digest(const uint8_t *data, size_t size, size_t piece)
{
    struct frame_reader *r;
    uint64_t sum = 0;
    struct fault why;
    struct frame f;
    int rc = 0;

    if (frame_reader_create(&r, LIMIT, &why))
        abort();
    for (size_t at = 0; at < size && rc >= 0; at += piece) {
        if (frame_reader_feed(r, data + at, at + piece < size ? piece : size - at, &why))
            abort();
        while ((rc = frame_reader_next(r, &f, &why)) > 0) {
            if (f.size > LIMIT || f.payload[f.size] != 0)
                abort();
            sum = sum * 31 + f.type;
            for (uint32_t i = 0; i < f.size; i++)
                sum = sum * 31 + f.payload[i];
        }
    }
    frame_reader_destroy(r);
    return sum * 2 + (rc < 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > 1 && digest(data + 1, size - 1, 1u + data[0]) != digest(data + 1, size - 1, size))
        abort();
    return 0;
}

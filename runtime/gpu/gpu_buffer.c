/* SPDX-License-Identifier: MIT */
#include "runtime/gpu/gpu_buffer.h"

#include "runtime/gpu/gpu_stream.h"

#include <string.h>

static int buffer_open(struct gpu_buffer *out, const struct gpu_buffer *b, void *stream,
                       struct fault *why)
{
    int rc = gpu_memory_wait(&b->memory, stream, why);

    *out = (struct gpu_buffer){0};
    if (rc)
        gpu_memory_close(&b->memory);
    else
        *out = *b;
    return rc;
}

static int buffer_make_room(struct gpu_buffer *b, struct fault *why)
{
    int rc = gpu_memory_enter(&b->memory, why);

    if (rc)
        return rc;
    rc = gpu_bounce_open(&b->bounce, b->memory.driver, b->size, why);
    gpu_memory_leave(&b->memory);
    return rc;
}

int gpu_buffer_open(struct gpu_buffer *out, const struct gpu_memory *memory, const void *at,
                    size_t size, void *stream, struct fault *why)
{
    struct gpu_buffer b = {.memory = *memory, .at = (unsigned char *)(uintptr_t)at, .size = size};
    int rc = buffer_open(out, &b, stream, why);

    if (rc)
        return rc;
    rc = buffer_make_room(out, why);
    if (rc) {
        gpu_memory_close(memory);
        *out = (struct gpu_buffer){0};
    }
    return rc;
}

int gpu_buffer_open_direct(struct gpu_buffer *out, const struct gpu_memory *memory, const void *at,
                           void *stream, struct fault *why)
{
    struct gpu_buffer b = {
        .memory = *memory, .at = (unsigned char *)(uintptr_t)at, .is_direct = true};

    return buffer_open(out, &b, stream, why);
}

int gpu_buffer_open_late(struct gpu_buffer *out, const struct gpu_memory *memory, const void *at,
                         size_t size, void *stream, struct fault *why)
{
    struct gpu_buffer b = {
        .memory = *memory, .at = (unsigned char *)(uintptr_t)at, .size = size, .is_late = true};

    return buffer_open(out, &b, stream, why);
}

int gpu_buffer_fetch(struct gpu_buffer *b, struct fault *why)
{
    return b->bounce.memory ? 0 : buffer_make_room(b, why);
}

/* --- in pieces -------------------------------------------------------------------------------- */

static int pieces_open(struct gpu_buffer *b, bool reads, struct fault *why)
{
    unsigned pieces = 1;

    if (b->pipe.bounce.memory)
        return 0;
    while (pieces < GPU_PIPE_PIECES && b->size > (size_t)pieces * GPU_PIECE)
        pieces *= 2;
    return gpu_pipe_open(&b->pipe, &b->memory, reads, b->size < GPU_PIECE ? b->size : GPU_PIECE,
                         pieces, why);
}

/* Begins to copy all for which pieces are free. */
static int pieces_queue(struct gpu_buffer *b, size_t sent, struct fault *why)
{
    size_t first = sent / GPU_PIECE;

    while (b->queued < b->size && b->queued / GPU_PIECE - first < b->pipe.pieces) {
        size_t rest = b->size - b->queued;
        struct gpu_span next = {b->queued, rest < GPU_PIECE ? rest : GPU_PIECE};

        if (gpu_pipe_start(&b->pipe, &b->memory, b->queued / GPU_PIECE, b->at, &next, 1, why))
            return why->code;
        b->queued += next.size;
    }
    return 0;
}

int gpu_buffer_read_piece(struct gpu_buffer *b, size_t sent, struct fault *why)
{
    size_t left;
    int rc = pieces_open(b, true, why);

    if (!rc)
        rc = pieces_queue(b, sent, why);
    if (!rc)
        rc = gpu_pipe_await(&b->pipe, &b->memory, b->ready / GPU_PIECE, why);
    if (rc)
        return rc;
    left = b->queued - b->ready;
    b->ready += left < GPU_PIECE ? left : GPU_PIECE;
    return 0;
}

void *gpu_buffer_room(struct gpu_buffer *b, size_t offset, size_t *size, struct fault *why)
{
    if (pieces_open(b, false, why))
        return NULL;
    if (b->came.offset + b->came.size != offset) {
        if (gpu_buffer_end(b, why))
            return NULL;
        b->came.offset = offset;
    }
    if (!b->came.size && gpu_pipe_await(&b->pipe, &b->memory, b->number, why))
        return NULL;
    *size = b->pipe.piece - b->came.size;
    return (unsigned char *)gpu_pipe_piece(&b->pipe, b->number) + b->came.size;
}

int gpu_buffer_came(struct gpu_buffer *b, size_t size, struct fault *why)
{
    b->came.size += size;
    return b->came.size == b->pipe.piece ? gpu_buffer_end(b, why) : 0;
}

int gpu_buffer_end(struct gpu_buffer *b, struct fault *why)
{
    struct gpu_span came = b->came;

    b->came = (struct gpu_span){came.offset + came.size, 0};
    return came.size ? gpu_pipe_start(&b->pipe, &b->memory, b->number++, b->at, &came, 1, why) : 0;
}

int gpu_buffer_take(struct gpu_buffer *b, size_t offset, const void *bytes, size_t size,
                    struct fault *why)
{
    const unsigned char *from = bytes;
    size_t part;

    for (; size; size -= part, offset += part, from += part) {
        void *to = gpu_buffer_room(b, offset, &part, why);

        if (!to)
            return why->code;
        part = part < size ? part : size;
        memcpy(to, from, part);
        if (gpu_buffer_came(b, part, why))
            return why->code;
    }
    return 0;
}

static void buffer_close_bounce(const struct gpu_buffer *b)
{
    struct fault ignored;
    bool is_in = gpu_memory_enter(&b->memory, &ignored) == 0;

    gpu_bounce_close(&b->bounce, b->memory.driver);
    if (is_in)
        gpu_memory_leave(&b->memory);
}

void gpu_buffer_close(struct gpu_buffer *b)
{
    gpu_pipe_close(&b->pipe, &b->memory);
    if (b->bounce.memory)
        buffer_close_bounce(b);
    if (b->bounce.memory || b->is_direct || b->is_late)
        gpu_memory_close(&b->memory);
    *b = (struct gpu_buffer){0};
}

/* --- as a whole ------------------------------------------------------------------------------- */

/* What was queued is awaited even if a copy fails: it reads and writes the host memory, which has
 * another use afterwards. */
static int buffer_copy_in(const struct gpu_buffer *b, bool reads, const struct gpu_span *spans,
                          size_t count, void *stream, struct fault *why)
{
    const struct cuda_driver *driver = b->memory.driver;
    const char *failed = "cuMemcpyAsync";
    int result = CUDA_IS_DONE, waited;
    size_t all = 0;

    for (size_t i = 0; i < count && result == CUDA_IS_DONE; i++) {
        uint64_t gpu = (uintptr_t)b->at + spans[i].offset;
        uint64_t host = (uintptr_t)b->bounce.memory + spans[i].offset;

        all += spans[i].size;
        if (spans[i].size)
            result = driver->copy(reads ? host : gpu, reads ? gpu : host, spans[i].size, stream);
    }
    waited = driver->stream_synchronize(stream);
    if (result == CUDA_IS_DONE) {
        failed = "cuStreamSynchronize";
        result = waited;
    }
    if (result == CUDA_IS_DONE)
        return 0;
    return cuda_driver_fault(why, result, "cannot copy %zu bytes %s GPU %d: %s", all,
                             reads ? "from" : "to", b->memory.device, failed);
}

static int buffer_copy(const struct gpu_buffer *b, bool reads, const struct gpu_span *spans,
                       size_t count, struct fault *why)
{
    struct gpu_stream s;
    int rc = gpu_memory_enter(&b->memory, why);

    if (rc)
        return rc;
    rc = gpu_stream_open(&s, &b->memory, why);
    if (!rc) {
        rc = buffer_copy_in(b, reads, spans, count, s.stream, why);
        gpu_stream_close(&s, &b->memory);
    }
    gpu_memory_leave(&b->memory);
    return rc;
}

int gpu_buffer_read(struct gpu_buffer *b, const struct gpu_span *spans, size_t count,
                    struct fault *why)
{
    return b->is_direct ? 0 : buffer_copy(b, true, spans, count, why);
}

int gpu_buffer_write(struct gpu_buffer *b, const struct gpu_span *spans, size_t count,
                     struct fault *why)
{
    int rc = b->pipe.bounce.memory ? gpu_pipe_settle(&b->pipe, &b->memory, why) : 0;

    if (rc || b->is_direct)
        return rc ? rc : gpu_memory_settle(&b->memory, why);
    return b->bounce.memory ? buffer_copy(b, false, spans, count, why) : 0;
}

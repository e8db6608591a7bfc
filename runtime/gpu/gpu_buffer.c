/* SPDX-License-Identifier: MIT */
#include "runtime/gpu/gpu_buffer.h"

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

int gpu_buffer_fetch(struct gpu_buffer *b, bool reads, struct fault *why)
{
    struct gpu_span all = {0, b->size};
    int rc;

    if (b->bounce.memory)
        return 0;
    rc = buffer_make_room(b, why);
    return rc || !reads ? rc : gpu_buffer_read(b, &all, 1, why);
}

/* Begins to copy the next piece. */
static int piece_queue(struct gpu_buffer *b)
{
    size_t rest = b->size - b->queued, size = rest < GPU_PIECE ? rest : GPU_PIECE;
    uint64_t gpu = (uintptr_t)b->at + b->queued, host = (uintptr_t)b->bounce.memory + b->queued;

    b->queued += size;
    return size ? b->memory.driver->copy(host, gpu, size, b->stream.stream) : CUDA_IS_DONE;
}

static int piece_read(struct gpu_buffer *b, struct fault *why)
{
    const char *failed = "cuMemcpyAsync";
    int result = CUDA_IS_DONE;
    size_t end;

    if (!b->has_stream) {
        if (gpu_stream_open(&b->stream, &b->memory, why))
            return why->code;
        b->has_stream = true;
        result = piece_queue(b);
    }
    end = b->queued;
    if (result == CUDA_IS_DONE) {
        result = b->memory.driver->stream_synchronize(b->stream.stream);
        failed = "cuStreamSynchronize";
    }
    if (result == CUDA_IS_DONE) {
        result = piece_queue(b);
        failed = "cuMemcpyAsync";
    }
    if (result != CUDA_IS_DONE)
        return cuda_driver_fault(why, result, "cannot copy %zu bytes from GPU %d: %s", b->size,
                                 b->memory.device, failed);
    b->ready = end;
    return 0;
}

int gpu_buffer_read_piece(struct gpu_buffer *b, struct fault *why)
{
    int rc = gpu_buffer_fetch(b, false, why);

    if (!rc)
        rc = gpu_memory_enter(&b->memory, why);
    if (rc)
        return rc;
    rc = piece_read(b, why);
    gpu_memory_leave(&b->memory);
    return rc;
}

/* The room has another use afterwards, so a copy to it is awaited. */
static void buffer_close_stream(const struct gpu_buffer *b)
{
    if (!b->has_stream)
        return;
    b->memory.driver->stream_synchronize(b->stream.stream);
    gpu_stream_close(&b->stream, &b->memory);
}

static void buffer_close_bounce(const struct gpu_buffer *b)
{
    struct fault ignored;
    bool is_in = gpu_memory_enter(&b->memory, &ignored) == 0;

    buffer_close_stream(b);
    gpu_bounce_close(&b->bounce, b->memory.driver);
    if (is_in)
        gpu_memory_leave(&b->memory);
}

void gpu_buffer_close(struct gpu_buffer *b)
{
    if (b->bounce.memory)
        buffer_close_bounce(b);
    if (b->bounce.memory || b->is_direct || b->is_late)
        gpu_memory_close(&b->memory);
    *b = (struct gpu_buffer){0};
}

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

int gpu_buffer_take(struct gpu_buffer *b, size_t offset, const void *bytes, size_t size,
                    struct fault *why)
{
    int rc = gpu_buffer_fetch(b, false, why);

    if (!rc && b->came.offset + b->came.size != offset) {
        rc = gpu_buffer_end_take(b, why);
        b->came.offset = offset;
    }
    if (rc)
        return rc;
    memcpy((unsigned char *)b->bounce.memory + offset, bytes, size);
    b->came.size += size;
    return 0;
}

int gpu_buffer_end_take(struct gpu_buffer *b, struct fault *why)
{
    int rc = b->came.size ? buffer_copy(b, false, &b->came, 1, why) : 0;

    b->came = (struct gpu_span){0};
    return rc;
}

int gpu_buffer_read(const struct gpu_buffer *b, const struct gpu_span *spans, size_t count,
                    struct fault *why)
{
    return b->is_direct ? 0 : buffer_copy(b, true, spans, count, why);
}

int gpu_buffer_write(const struct gpu_buffer *b, const struct gpu_span *spans, size_t count,
                     struct fault *why)
{
    if (b->is_direct)
        return gpu_memory_settle(&b->memory, why);
    return b->bounce.memory ? buffer_copy(b, false, spans, count, why) : 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * gpu_buffer.h: a buffer of the program on a GPU, and the host memory that takes its place during a
 * call. All of it is copied before the call, and after it: then the algorithms of host memory work,
 * ranks with host and GPU buffers can meet in one call, and results have the same bits. A buffer
 * that RDMA devices reach themselves is direct: nothing is copied. The bytes of one that is late
 * are copied once it turns out that they can't go otherwise; it becomes direct when a device writes
 * some of them.
 */
#ifndef RUNTIME_GPU_GPU_BUFFER_H
#define RUNTIME_GPU_GPU_BUFFER_H

#include "runtime/gpu/gpu_bounce.h"
#include "runtime/gpu/gpu_memory.h"
#include "runtime/gpu/gpu_stream.h"

/* Bytes of a buffer. */
struct gpu_span {
    size_t offset, size;
};

enum { GPU_PIECE = 1 << 20 /* bytes; not measured */ };

struct gpu_buffer {
    struct gpu_memory memory;
    struct gpu_bounce bounce; /* its memory is NULL: the buffer is closed, direct, or in host
                               * memory */
    unsigned char *at;        /* on the GPU */
    size_t size;
    bool is_direct, is_late;
    struct gpu_span came; /* what gpu_buffer_take has taken last, and is not on the GPU */
    struct gpu_stream
        stream;           /* if it is read in pieces: of their copies; the bytes that are in the */
    size_t ready, queued; /* room, and those whose copies have begun, too */
    bool has_stream;
};

/* Waits for the program's work on memory that gpu_memory_open has found at `at`, as
 * gpu_memory_wait, and makes room for `size` bytes of it. The memory belongs to the buffer then, in
 * error too, in which the buffer is closed. ML_ERR_ARGUMENT, ML_ERR_DEVICE, ML_ERR_MEMORY. */
int gpu_buffer_open(struct gpu_buffer *out, const struct gpu_memory *memory, const void *at,
                    size_t size, void *stream, struct fault *why);
/* The same for a direct one, whose reads and writes move nothing. */
int gpu_buffer_open_direct(struct gpu_buffer *out, const struct gpu_memory *memory, const void *at,
                           void *stream, struct fault *why);
/* The same for a late one. gpu_buffer_fetch makes its room in host memory, unless it has one, with
 * the GPU's bytes if reads. Without a room gpu_buffer_write copies nothing: the bytes have come to
 * the GPU another way. ML_ERR_DEVICE, ML_ERR_MEMORY. */
int gpu_buffer_open_late(struct gpu_buffer *out, const struct gpu_memory *memory, const void *at,
                         size_t size, void *stream, struct fault *why);
int gpu_buffer_fetch(struct gpu_buffer *b, bool reads, struct fault *why);
/* For a late one that a device may write, too: puts `bytes` at `offset` of its room, which is made
 * first. If only some of the bytes came so (it is direct), gpu_buffer_end_take copies the last of
 * these to the GPU, else gpu_buffer_write all. ML_ERR_DEVICE, ML_ERR_MEMORY. */
int gpu_buffer_take(struct gpu_buffer *b, size_t offset, const void *bytes, size_t size,
                    struct fault *why);
int gpu_buffer_end_take(struct gpu_buffer *b, struct fault *why);
/* For a late one that is sent from its beginning on: returns when the next GPU_PIECE bytes are in
 * its room, which is made first; the copy of those behind them goes on meanwhile. ML_ERR_DEVICE,
 * ML_ERR_MEMORY. */
int gpu_buffer_read_piece(struct gpu_buffer *b, struct fault *why);
void gpu_buffer_close(struct gpu_buffer *b);

/* Where the call reads and writes its bytes. */
static inline void *gpu_buffer_place(const struct gpu_buffer *b)
{
    return b->is_direct ? b->at : b->bounce.memory;
}

/* Copy spans from the GPU, or to it. The copies are done when it returns: what is queued in any
 * stream from now on sees them. Any thread. ML_ERR_DEVICE. */
int gpu_buffer_read(const struct gpu_buffer *b, const struct gpu_span *spans, size_t count,
                    struct fault *why);
int gpu_buffer_write(const struct gpu_buffer *b, const struct gpu_span *spans, size_t count,
                     struct fault *why);

#endif

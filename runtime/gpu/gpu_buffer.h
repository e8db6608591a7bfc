/* SPDX-License-Identifier: MIT */
/*
 * gpu_buffer.h: a buffer of the program on a GPU, and the host memory that takes its place during a
 * call. Either all of it is copied before the call, and after it: then the algorithms of host
 * memory work, ranks with host and GPU buffers can meet in one call, and results have the same
 * bits. Or its bytes pass through a few pieces (gpu_pipe.h). A buffer that RDMA devices reach
 * themselves is direct: nothing is copied. It turns out during the call how the bytes of one that
 * is late go; it becomes direct when a device writes some of them.
 */
#ifndef RUNTIME_GPU_GPU_BUFFER_H
#define RUNTIME_GPU_GPU_BUFFER_H

#include "runtime/gpu/gpu_bounce.h"
#include "runtime/gpu/gpu_memory.h"
#include "runtime/gpu/gpu_pipe.h"

enum { GPU_PIECE = 1 << 20 /* bytes of a message; not measured */ };

struct gpu_buffer {
    struct gpu_memory memory;
    struct gpu_bounce bounce; /* its memory is NULL: the buffer is closed, direct, late, or in host
                               * memory */
    unsigned char *at;        /* on the GPU */
    size_t size;
    bool is_direct, is_late;
    /* The bytes of a late one that pass through pieces: */
    struct gpu_pipe pipe;
    size_t ready, queued; /* what is sent: bytes in their pieces; whose copies have begun */
    size_t read;          /* bytes that RDMA devices no longer read, */
    uint64_t marks[GPU_PIPE_PIECES]; /* and what to ask them for each piece */
    struct gpu_span came; /* what is received: bytes in the last piece, which wait for more; */
    size_t number;        /* this piece */
};

/* Waits for the program's work on memory that gpu_memory_open has found at `at`, as
 * gpu_memory_wait, and makes room for `size` bytes of it. The memory belongs to the buffer then, in
 * error too, in which the buffer is closed. ML_ERR_ARGUMENT, ML_ERR_DEVICE, ML_ERR_MEMORY. */
int gpu_buffer_open(struct gpu_buffer *out, const struct gpu_memory *memory, const void *at,
                    size_t size, void *stream, struct fault *why);
/* The same for a direct one, whose reads and writes move nothing. */
int gpu_buffer_open_direct(struct gpu_buffer *out, const struct gpu_memory *memory, const void *at,
                           void *stream, struct fault *why);
/* The same for a late one. gpu_buffer_fetch makes its room in host memory, unless it has one, which
 * gpu_buffer_write copies. Without a room that waits for the pieces that are under way; what has
 * come to the GPU another way is there. ML_ERR_DEVICE, ML_ERR_MEMORY. */
int gpu_buffer_open_late(struct gpu_buffer *out, const struct gpu_memory *memory, const void *at,
                         size_t size, void *stream, struct fault *why);
int gpu_buffer_fetch(struct gpu_buffer *b, struct fault *why);

/* For a late one that is sent from its beginning on: returns when the next piece, GPU_PIECE bytes,
 * can be sent; those behind it are copied meanwhile. The first `sent` bytes are no longer needed in
 * their pieces; if none is free, no more bytes are ready than before. ML_ERR_DEVICE,
 * ML_ERR_MEMORY. */
int gpu_buffer_read_piece(struct gpu_buffer *b, size_t sent, struct fault *why);
/* Where the bytes from `offset` on are, which are ready: up to the end of their piece. */
static inline void *gpu_buffer_ready(const struct gpu_buffer *b, size_t offset)
{
    return (unsigned char *)gpu_pipe_piece(&b->pipe, offset / GPU_PIECE) + offset % GPU_PIECE;
}

/* For a late one that is received: where the bytes from `offset` on are to be put, *size at most;
 * then `size` have been put there; and the message ends, or nothing more comes this way before a
 * device writes. Meanwhile those before are copied to the GPU. Or all in one for bytes that are
 * elsewhere. NULL, ML_ERR_DEVICE, ML_ERR_MEMORY. */
void *gpu_buffer_room(struct gpu_buffer *b, size_t offset, size_t *size, struct fault *why);
int gpu_buffer_came(struct gpu_buffer *b, size_t size, struct fault *why);
int gpu_buffer_end(struct gpu_buffer *b, struct fault *why);
int gpu_buffer_take(struct gpu_buffer *b, size_t offset, const void *bytes, size_t size,
                    struct fault *why);
void gpu_buffer_close(struct gpu_buffer *b);

/* Where the call reads and writes its bytes. */
static inline void *gpu_buffer_place(const struct gpu_buffer *b)
{
    return b->is_direct ? b->at : b->bounce.memory;
}

/* Copy spans from the GPU, or to it. The copies are done when it returns: what is queued in any
 * stream from now on sees them. Any thread. ML_ERR_DEVICE. */
int gpu_buffer_read(struct gpu_buffer *b, const struct gpu_span *spans, size_t count,
                    struct fault *why);
int gpu_buffer_write(struct gpu_buffer *b, const struct gpu_span *spans, size_t count,
                     struct fault *why);

#endif

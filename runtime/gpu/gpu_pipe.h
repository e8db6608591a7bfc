/* SPDX-License-Identifier: MIT */
/*
 * gpu_pipe.h: pieces of host memory through which the bytes of a GPU buffer of any size pass. Each
 * piece is copied in a stream of its own, so one can be waited for while the others are under way:
 * bytes are copied while others are on the link.
 */
#ifndef RUNTIME_GPU_GPU_PIPE_H
#define RUNTIME_GPU_GPU_PIPE_H

#include "runtime/gpu/gpu_bounce.h"
#include "runtime/gpu/gpu_memory.h"
#include "runtime/gpu/gpu_stream.h"

enum { GPU_PIPE_PIECES = 4 };

/* Bytes of a buffer. */
struct gpu_span {
    size_t offset, size;
};

struct gpu_pipe {
    struct gpu_bounce bounce; /* all pieces; its memory is NULL: closed */
    size_t piece;             /* bytes of each */
    unsigned pieces;          /* a power of two */
    struct gpu_stream streams[GPU_PIPE_PIECES];
    bool has_stream[GPU_PIPE_PIECES];
    size_t under_way[GPU_PIPE_PIECES]; /* bytes whose copy has begun, and is not awaited */
    bool reads;                        /* from the GPU; else it writes there */
};

/* Makes `pieces` pieces, at most GPU_PIPE_PIECES and a power of two, for a buffer in the memory
 * that `m` describes, which all calls below need. ML_ERR_DEVICE, ML_ERR_MEMORY. */
int gpu_pipe_open(struct gpu_pipe *out, const struct gpu_memory *m, bool reads, size_t piece,
                  unsigned pieces, struct fault *why);
/* Waits for the copies that are under way, even if one has failed: nothing is written any more. */
void gpu_pipe_close(struct gpu_pipe *p, const struct gpu_memory *m);

/* Piece `number`, modulo how many there are. */
static inline void *gpu_pipe_piece(const struct gpu_pipe *p, size_t number)
{
    return (unsigned char *)p->bounce.memory + (number & (p->pieces - 1)) * p->piece;
}

/* Begins to copy spans of the buffer at `at` on the GPU, which lie one behind the other in the
 * piece. What the piece had before must have been awaited. ML_ERR_DEVICE. */
int gpu_pipe_start(struct gpu_pipe *p, const struct gpu_memory *m, size_t number,
                   const unsigned char *at, const struct gpu_span *spans, size_t count,
                   struct fault *why);
/* Waits until the copy of the piece is done, if one is under way. ML_ERR_DEVICE. */
int gpu_pipe_await(struct gpu_pipe *p, const struct gpu_memory *m, size_t number,
                   struct fault *why);
/* The same for all pieces. */
int gpu_pipe_settle(struct gpu_pipe *p, const struct gpu_memory *m, struct fault *why);

#endif

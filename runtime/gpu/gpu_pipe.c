/* SPDX-License-Identifier: MIT */
#include "runtime/gpu/gpu_pipe.h"

int gpu_pipe_open(struct gpu_pipe *out, const struct gpu_memory *m, bool reads, size_t piece,
                  unsigned pieces, struct fault *why)
{
    struct gpu_pipe p = {.piece = piece, .pieces = pieces, .reads = reads};
    int rc = gpu_memory_enter(m, why);

    if (rc)
        return rc;
    rc = gpu_bounce_open(&p.bounce, m->driver, piece * pieces, why);
    gpu_memory_leave(m);
    if (!rc)
        *out = p;
    return rc;
}

static int pipe_queue(const struct gpu_pipe *p, const struct cuda_driver *driver, size_t place,
                      const unsigned char *at, const struct gpu_span *spans, size_t count)
{
    uint64_t host = (uintptr_t)gpu_pipe_piece(p, place);
    int result = CUDA_IS_DONE;

    for (size_t i = 0; i < count && result == CUDA_IS_DONE; i++) {
        uint64_t gpu = (uintptr_t)at + spans[i].offset;

        if (spans[i].size)
            result = driver->copy(p->reads ? host : gpu, p->reads ? gpu : host, spans[i].size,
                                  p->streams[place].stream);
        host += spans[i].size;
    }
    return result;
}

static int pipe_fail(struct fault *why, const struct gpu_pipe *p, const struct gpu_memory *m,
                     size_t size, int result, const char *failed)
{
    return cuda_driver_fault(why, result, "cannot copy %zu bytes %s GPU %d: %s", size,
                             p->reads ? "from" : "to", m->device, failed);
}

int gpu_pipe_start(struct gpu_pipe *p, const struct gpu_memory *m, size_t number,
                   const unsigned char *at, const struct gpu_span *spans, size_t count,
                   struct fault *why)
{
    size_t place = number & (p->pieces - 1), size = 0;
    int result, rc = gpu_memory_enter(m, why);

    if (rc)
        return rc;
    if (!p->has_stream[place]) {
        rc = gpu_stream_open(&p->streams[place], m, why);
        p->has_stream[place] = !rc;
    }
    for (size_t i = 0; i < count; i++)
        size += spans[i].size;
    if (!rc) {
        p->under_way[place] = size; /* in error some of them may be */
        result = pipe_queue(p, m->driver, place, at, spans, count);
        if (result != CUDA_IS_DONE)
            rc = pipe_fail(why, p, m, size, result, "cuMemcpyAsync");
    }
    gpu_memory_leave(m);
    return rc;
}

static int pipe_await(struct gpu_pipe *p, const struct gpu_memory *m, size_t place,
                      struct fault *why)
{
    size_t size = p->under_way[place];
    int result = size ? m->driver->stream_synchronize(p->streams[place].stream) : CUDA_IS_DONE;

    if (result == CUDA_IS_DONE) {
        p->under_way[place] = 0;
        return 0;
    }
    return pipe_fail(why, p, m, size, result, "cuStreamSynchronize");
}

int gpu_pipe_await(struct gpu_pipe *p, const struct gpu_memory *m, size_t number, struct fault *why)
{
    size_t place = number & (p->pieces - 1);
    int rc = p->under_way[place] ? gpu_memory_enter(m, why) : 0;

    if (rc || !p->under_way[place])
        return rc;
    rc = pipe_await(p, m, place, why);
    gpu_memory_leave(m);
    return rc;
}

int gpu_pipe_settle(struct gpu_pipe *p, const struct gpu_memory *m, struct fault *why)
{
    int rc = 0;

    for (unsigned i = 0; i < p->pieces && !rc; i++)
        rc = gpu_pipe_await(p, m, i, why);
    return rc;
}

void gpu_pipe_close(struct gpu_pipe *p, const struct gpu_memory *m)
{
    struct fault ignored;
    bool is_in;

    if (!p->bounce.memory)
        return;
    is_in = gpu_memory_enter(m, &ignored) == 0;
    for (unsigned i = 0; i < p->pieces; i++) {
        pipe_await(p, m, i, &ignored);
        if (p->has_stream[i])
            gpu_stream_close(&p->streams[i], m);
    }
    gpu_bounce_close(&p->bounce, m->driver);
    if (is_in)
        gpu_memory_leave(m);
    *p = (struct gpu_pipe){0};
}

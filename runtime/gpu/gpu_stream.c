/* SPDX-License-Identifier: MIT */
#include "runtime/gpu/gpu_stream.h"

#include <pthread.h>

enum { STREAMS_KEPT = 16 };

/* Those that nobody uses. The id of a context is never used twice, unlike its address, so a stream
 * of a context that the program has destroyed is never taken. */
static struct {
    pthread_mutex_t lock;
    struct gpu_stream kept[STREAMS_KEPT];
    int count;
} streams = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool streams_take(struct gpu_stream *s)
{
    bool found = false;

    pthread_mutex_lock(&streams.lock);
    for (int i = 0; i < streams.count && !found; i++) {
        if (streams.kept[i].context_id != s->context_id)
            continue;
        found = true;
        *s = streams.kept[i];
        streams.kept[i] = streams.kept[--streams.count];
    }
    pthread_mutex_unlock(&streams.lock);
    return found;
}

static bool streams_keep(const struct gpu_stream *s)
{
    bool has_room;

    pthread_mutex_lock(&streams.lock);
    has_room = streams.count < STREAMS_KEPT;
    if (has_room)
        streams.kept[streams.count++] = *s;
    pthread_mutex_unlock(&streams.lock);
    return has_room;
}

int gpu_stream_open(struct gpu_stream *out, const struct gpu_memory *m, struct fault *why)
{
    struct gpu_stream s = {0};
    int result;

    if (m->driver->context_id && m->driver->context_id(m->context, &s.context_id) != CUDA_IS_DONE)
        s.context_id = 0;
    if (!s.context_id || !streams_take(&s)) {
        result = m->driver->stream_create(&s.stream, CUDA_STREAM_NON_BLOCKING);
        if (result != CUDA_IS_DONE)
            return cuda_driver_fault(why, result,
                                     "cannot make a stream for copies on GPU %d: cuStreamCreate",
                                     m->device);
    }
    *out = s;
    return 0;
}

void gpu_stream_close(const struct gpu_stream *s, const struct gpu_memory *m)
{
    if (!s->context_id || !streams_keep(s))
        m->driver->stream_destroy(s->stream);
}

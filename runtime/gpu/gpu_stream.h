/* SPDX-License-Identifier: MIT */
/*
 * gpu_stream.h: streams of our own, in which memory is copied beside the program's work. They are
 * kept, because to make one takes longer than to copy a few KiB.
 */
#ifndef RUNTIME_GPU_GPU_STREAM_H
#define RUNTIME_GPU_GPU_STREAM_H

#include "runtime/gpu/gpu_memory.h"

struct gpu_stream {
    unsigned long long context_id; /* 0: the driver can't say */
    void *stream;
};

/* For the caller alone until gpu_stream_close; both between gpu_memory_enter and _leave of `m`.
 * ML_ERR_DEVICE. */
int gpu_stream_open(struct gpu_stream *out, const struct gpu_memory *m, struct fault *why);
void gpu_stream_close(const struct gpu_stream *s, const struct gpu_memory *m);

#endif

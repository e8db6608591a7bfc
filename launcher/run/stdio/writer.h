/* SPDX-License-Identifier: MIT */
/*
 * writer.h: a thread that writes what it is given, in order, so that a blocked terminal or pipe
 * never blocks the supervisor's loop. The first chunk starts it: many jobs write nothing. The queue
 * has no limit of its own; the credit window of each agent limits it (output_lane.c).
 */
#ifndef LAUNCHER_RUN_STDIO_WRITER_H
#define LAUNCHER_RUN_STDIO_WRITER_H

#include "common/fault.h"
#include "launcher/base/process/side_thread.h"

#include <stdbool.h>
#include <stdint.h>

enum { WRITER_SILENCE_MS = 100 /* without a chunk, until on_silence */ };

/* A piece of output. */
struct writer_chunk {
    struct writer_chunk *next;
    int64_t at_ns;  /* when it came, CLOCK_REALTIME */
    int host;       /* -1: of mlaunch itself */
    int rank;       /* -1: of mlaunch itself */
    uint8_t stream; /* 1 or 2; of mlaunch itself: see output_lane.c */
    uint32_t cost;  /* what it takes of the host's window */
    uint32_t label; /* bytes of a label of several ranks before the others; 0: there is none */
    size_t size;
    char bytes[];
};

/* Called on the writer's thread. */
struct writer_ops {
    void (*on_chunk)(const struct writer_chunk *c, void *arg);
    void (*on_flush)(void *arg); /* everything from on_chunk must be written now */
    /* After on_flush: the chunks of `list` are written (NULL: only what on_silence put), and
     * writer_is_idle() may have become true. */
    void (*on_written)(const struct writer_chunk *list, void *arg);
    /* Nothing has come for WRITER_SILENCE_MS. Returns whether to call it again after as long. */
    bool (*on_silence)(void *arg);
    void *arg;
};

struct writer;

/* Any thread may call these functions but writer_close. ML_ERR_MEMORY. */
int writer_open(struct writer **out, const struct writer_ops *ops, struct fault *why);

/* Takes over `c`, which is from malloc(), also if it fails: ML_ERR_SYSTEM, the thread cannot be
 * started. Does not wait for writing. */
int writer_push(struct writer *w, struct writer_chunk *c, struct fault *why);

/* A chunk has been pushed. */
bool writer_is_used(struct writer *w);

/* Everything pushed so far has been written. on_written may still be running for it. */
bool writer_is_idle(struct writer *w);

/* For on_chunk and on_flush, to notice that a blocked call must end (side_thread_is_stopping). */
struct side_thread *writer_thread(struct writer *w);

/* Ends the thread, even in a blocked write; what is still queued is dropped. Takes NULL. */
void writer_close(struct writer *w);

#endif

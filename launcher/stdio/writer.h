/* SPDX-License-Identifier: MIT */
/*
 * writer.h: a thread that writes what it is given, in order, so that a blocked terminal or pipe
 * never blocks the supervisor's loop. It is started by the first chunk: many jobs say nothing. The
 * queue's bound is not kept here: it is the credit window of each agent (output.c), and what mlaunch
 * itself has to say.
 */
#ifndef LAUNCHER_STDIO_WRITER_H
#define LAUNCHER_STDIO_WRITER_H

#include "common/fault.h"
#include "launcher/process/side_thread.h"

#include <stdbool.h>
#include <stdint.h>

enum { WRITER_SILENCE_MS = 100 /* how long nothing must come before on_silence */ };

/* A piece of output. */
struct writer_chunk {
    struct writer_chunk *next;
    int64_t at_ns;  /* when it came, CLOCK_REALTIME */
    int host;       /* -1: mlaunch's own */
    int rank;       /* -1: mlaunch's own */
    uint8_t stream; /* 1, 2; for mlaunch's own see output.c */
    size_t size;
    char bytes[];
};

/* Called on the writer's thread. */
struct writer_ops {
    void (*on_chunk)(const struct writer_chunk *c, void *arg);
    void (*on_flush)(void *arg); /* what was taken must go out now */
    /* After on_flush: these are out (NULL: nothing but what on_silence gave), and writer_is_idle
     * may have become true. */
    void (*on_written)(const struct writer_chunk *list, void *arg);
    /* The queue is empty and nothing came for WRITER_SILENCE_MS. True: and again after as much. */
    bool (*on_silence)(void *arg);
    void *arg;
};

struct writer;

int writer_open(struct writer **out, const struct writer_ops *ops, struct fault *why);

/* Takes over `c` (made with malloc), in failure too: that there can't be a thread. Never blocks for long; any thread
 * may call. */
int writer_push(struct writer *w, struct writer_chunk *c, struct fault *why);

/* Something has been pushed. */
bool writer_is_used(struct writer *w);

/* Everything pushed so far has been written and told of with on_written. */
bool writer_is_idle(struct writer *w);

/* For calls that block in on_chunk and on_flush. */
struct side_thread *writer_thread(struct writer *w);

/* Ends the thread, in a blocked write too; what is still queued is dropped. Takes NULL. */
void writer_close(struct writer *w);

#endif

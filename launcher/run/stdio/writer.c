/* SPDX-License-Identifier: MIT */
#include "launcher/run/stdio/writer.h"

#include "common/clock.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

enum { BATCH = 512 << 10 /* bytes that are written before they are acknowledged */ };

struct writer {
    struct writer_ops ops;
    struct side_thread thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    struct writer_chunk *first, **last;
    struct writer_chunk *batch; /* being written; only the thread uses it */
    bool is_busy;
};

static void chunks_free(struct writer_chunk *c)
{
    while (c) {
        struct writer_chunk *next = c->next;

        free(c);
        c = next;
    }
}

/* Takes about BATCH bytes from the head of the queue; lock held. */
static struct writer_chunk *batch_take(struct writer *w)
{
    struct writer_chunk *list = w->first, *c;
    size_t size = 0;

    for (c = list; c; c = c->next) {
        size += c->size;
        if (size >= BATCH)
            break;
    }
    if (c) {
        w->first = c->next;
        c->next = NULL;
    } else {
        w->first = NULL;
    }
    if (!w->first)
        w->last = &w->first;
    return list;
}

/* Waits for a chunk, or until the thread must end; lock held. `timed`: for WRITER_SILENCE_MS at
 * most, and returns true if nothing came. */
static bool chunk_wait(struct writer *w, bool timed)
{
    const struct timespec until = clock_after(WRITER_SILENCE_MS * INT64_C(1000000));

    while (!w->first && !side_thread_is_stopping(&w->thread)) {
        if (!timed)
            pthread_cond_wait(&w->wake, &w->lock);
        else if (pthread_cond_timedwait(&w->wake, &w->lock, &until) == ETIMEDOUT)
            return !w->first;
    }
    return false;
}

/* Waits for the next batch and takes it. True: there was silence instead. */
static bool batch_next(struct writer *w, bool timed)
{
    bool silence;

    pthread_mutex_lock(&w->lock);
    silence = chunk_wait(w, timed);
    w->is_busy = true;
    w->batch = batch_take(w);
    pthread_mutex_unlock(&w->lock);
    return silence;
}

static void *writer_run(void *arg)
{
    struct writer *w = arg;
    bool timed = false; /* something was written since the last silence */

    while (!side_thread_is_stopping(&w->thread)) {
        bool silence = batch_next(w, timed), again = false;

        for (struct writer_chunk *c = w->batch; c; c = c->next)
            w->ops.on_chunk(c, w->ops.arg);
        if (silence)
            again = w->ops.on_silence(w->ops.arg);
        timed = !silence || again;
        w->ops.on_flush(w->ops.arg);
        pthread_mutex_lock(&w->lock);
        w->is_busy = w->first != NULL;
        pthread_mutex_unlock(&w->lock);
        w->ops.on_written(w->batch, w->ops.arg);
        chunks_free(w->batch);
        w->batch = NULL;
    }
    return NULL;
}

int writer_open(struct writer **out, const struct writer_ops *ops, struct fault *why)
{
    struct writer *w = calloc(1, sizeof(*w));
    pthread_condattr_t attr;

    if (!w)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    w->ops = *ops;
    w->last = &w->first;
    pthread_mutex_init(&w->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&w->wake, &attr);
    pthread_condattr_destroy(&attr);
    *out = w;
    return 0;
}

int writer_push(struct writer *w, struct writer_chunk *c, struct fault *why)
{
    int rc = 0;

    c->next = NULL;
    pthread_mutex_lock(&w->lock);
    if (!w->thread.started)
        rc = side_thread_start(&w->thread, writer_run, w, "the output", why);
    if (rc) {
        free(c);
    } else {
        *w->last = c;
        w->last = &c->next;
        w->is_busy = true;
        pthread_cond_signal(&w->wake);
    }
    pthread_mutex_unlock(&w->lock);
    return rc;
}

bool writer_is_used(struct writer *w)
{
    bool is_used;

    pthread_mutex_lock(&w->lock);
    is_used = w->thread.started;
    pthread_mutex_unlock(&w->lock);
    return is_used;
}

struct side_thread *writer_thread(struct writer *w)
{
    return &w->thread;
}

bool writer_is_idle(struct writer *w)
{
    bool is_idle;

    pthread_mutex_lock(&w->lock);
    is_idle = !w->is_busy;
    pthread_mutex_unlock(&w->lock);
    return is_idle;
}

void writer_close(struct writer *w)
{
    if (!w)
        return;
    side_thread_ask_to_stop(&w->thread);
    pthread_mutex_lock(&w->lock);
    pthread_cond_signal(&w->wake);
    pthread_mutex_unlock(&w->lock);
    side_thread_stop(&w->thread);
    chunks_free(w->batch);
    chunks_free(w->first);
    pthread_cond_destroy(&w->wake);
    pthread_mutex_destroy(&w->lock);
    free(w);
}

/* SPDX-License-Identifier: MIT */
#include "runtime/process/fork_guard.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

bool fork_guard_is_child;

static struct {
    pthread_mutex_t lock; /* over all of the below */
    bool is_registered;   /* with pthread_atfork */
    bool is_holder;       /* it is a rank */
    unsigned long *bits;  /* one per descriptor that forked children must close */
    size_t words;         /* length of `bits` */
} guard = {.lock = PTHREAD_MUTEX_INITIALIZER};

enum { WORD_BITS = sizeof(unsigned long) * CHAR_BIT };

static void fork_guard_prepare(void)
{
    pthread_mutex_lock(&guard.lock);
}

static void fork_guard_parent(void)
{
    pthread_mutex_unlock(&guard.lock);
}

/* Only closes descriptors: in the child of a process with threads, little else is safe. */
static void fork_guard_child(void)
{
    int saved = errno;

    if (guard.is_holder) {
        fork_guard_is_child = true;
        for (size_t i = 0; i < guard.words * WORD_BITS; i++)
            if (guard.bits[i / WORD_BITS] >> (i % WORD_BITS) & 1)
                close((int)i);
    }
    pthread_mutex_unlock(&guard.lock);
    errno = saved;
}

void fork_guard_start(void)
{
    pthread_mutex_lock(&guard.lock);
    guard.is_holder = true;
    if (!guard.is_registered)
        guard.is_registered =
            !pthread_atfork(fork_guard_prepare, fork_guard_parent, fork_guard_child);
    pthread_mutex_unlock(&guard.lock);
}

void fork_guard_stop(void)
{
    pthread_mutex_lock(&guard.lock);
    guard.is_holder = false;
    free(guard.bits);
    guard.bits = NULL;
    guard.words = 0;
    pthread_mutex_unlock(&guard.lock);
}

void fork_guard_add(int fd)
{
    size_t word = (size_t)fd / WORD_BITS;

    if (fd < 0)
        return;
    pthread_mutex_lock(&guard.lock);
    if (word >= guard.words) {
        unsigned long *grown = realloc(guard.bits, (word + 1) * sizeof(*guard.bits));

        /* Out of memory: a child keeps one descriptor open, which is no disaster. */
        if (!grown)
            goto out;
        for (size_t i = guard.words; i <= word; i++)
            grown[i] = 0;
        guard.bits = grown;
        guard.words = word + 1;
    }
    guard.bits[word] |= 1ul << ((size_t)fd % WORD_BITS);
out:
    pthread_mutex_unlock(&guard.lock);
}

static void fork_guard_forget_locked(int fd)
{
    size_t word = (size_t)fd / WORD_BITS;

    if (word < guard.words)
        guard.bits[word] &= ~(1ul << ((size_t)fd % WORD_BITS));
}

void fork_guard_forget(int fd)
{
    if (fd < 0)
        return;
    pthread_mutex_lock(&guard.lock);
    fork_guard_forget_locked(fd);
    pthread_mutex_unlock(&guard.lock);
}

void fork_guard_close(int fd)
{
    if (fd < 0)
        return;
    pthread_mutex_lock(&guard.lock);
    fork_guard_forget_locked(fd);
    close(fd);
    pthread_mutex_unlock(&guard.lock);
}

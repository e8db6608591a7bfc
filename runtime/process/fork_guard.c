/* SPDX-License-Identifier: MIT */
#include "runtime/process/fork_guard.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

bool fork_guard_is_child;

static pthread_mutex_t guard_lock = PTHREAD_MUTEX_INITIALIZER;
static bool is_registered, is_holder;
/* A bit per descriptor of ours. */
static unsigned long *ours;
static size_t ours_words;

enum { WORD_BITS = sizeof(unsigned long) * CHAR_BIT };

static void fork_guard_prepare(void)
{
    pthread_mutex_lock(&guard_lock);
}

static void fork_guard_parent(void)
{
    pthread_mutex_unlock(&guard_lock);
}

/* Only close(): of a process with threads, the child may do no more. */
static void fork_guard_child(void)
{
    int saved = errno;

    if (is_holder) {
        fork_guard_is_child = true;
        for (size_t i = 0; i < ours_words * WORD_BITS; i++)
            if (ours[i / WORD_BITS] >> (i % WORD_BITS) & 1)
                close((int)i);
    }
    pthread_mutex_unlock(&guard_lock);
    errno = saved;
}

void fork_guard_start(void)
{
    pthread_mutex_lock(&guard_lock);
    is_holder = true;
    if (!is_registered)
        is_registered = !pthread_atfork(fork_guard_prepare, fork_guard_parent, fork_guard_child);
    pthread_mutex_unlock(&guard_lock);
}

void fork_guard_stop(void)
{
    pthread_mutex_lock(&guard_lock);
    is_holder = false;
    free(ours);
    ours = NULL;
    ours_words = 0;
    pthread_mutex_unlock(&guard_lock);
}

void fork_guard_add(int fd)
{
    size_t word = (size_t)fd / WORD_BITS;

    if (fd < 0)
        return;
    pthread_mutex_lock(&guard_lock);
    if (word >= ours_words) {
        unsigned long *grown = realloc(ours, (word + 1) * sizeof(*ours));

        /* Out of memory: a child keeps one descriptor more, no worse. */
        if (!grown)
            goto out;
        for (size_t i = ours_words; i <= word; i++)
            grown[i] = 0;
        ours = grown;
        ours_words = word + 1;
    }
    ours[word] |= 1ul << ((size_t)fd % WORD_BITS);
out:
    pthread_mutex_unlock(&guard_lock);
}

static void fork_guard_forget_locked(int fd)
{
    size_t word = (size_t)fd / WORD_BITS;

    if (word < ours_words)
        ours[word] &= ~(1ul << ((size_t)fd % WORD_BITS));
}

void fork_guard_forget(int fd)
{
    if (fd < 0)
        return;
    pthread_mutex_lock(&guard_lock);
    fork_guard_forget_locked(fd);
    pthread_mutex_unlock(&guard_lock);
}

void fork_guard_close(int fd)
{
    if (fd < 0)
        return;
    pthread_mutex_lock(&guard_lock);
    fork_guard_forget_locked(fd);
    close(fd);
    pthread_mutex_unlock(&guard_lock);
}

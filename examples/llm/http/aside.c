/* SPDX-License-Identifier: MIT */
#include "aside.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* Pieces in their order. */
struct row {
    struct aside_piece *first, *last;
};

struct aside {
    pthread_t thread;
    bool has_thread;
    pthread_mutex_t lock; /* over all below */
    pthread_cond_t change;
    struct row wanted, made;
    bool is_closing;
    int fd; /* readable when a piece was made */
    struct event *event;
};

static void row_put(struct row *r, struct aside_piece *p)
{
    p->next = NULL;
    if (r->last)
        r->last->next = p;
    else
        r->first = p;
    r->last = p;
}

static struct aside_piece *row_take(struct row *r)
{
    struct aside_piece *p = r->first;

    if (p)
        r->first = p->next;
    if (!r->first)
        r->last = NULL;
    return p;
}

static void *aside_run(void *arg)
{
    struct aside *a = arg;
    struct aside_piece *p;

    pthread_mutex_lock(&a->lock);
    while (!a->is_closing) {
        p = row_take(&a->wanted);
        if (!p) {
            pthread_cond_wait(&a->change, &a->lock);
            continue;
        }
        pthread_mutex_unlock(&a->lock);
        p->work(p);
        pthread_mutex_lock(&a->lock);
        row_put(&a->made, p);
        eventfd_write(a->fd, 1);
    }
    pthread_mutex_unlock(&a->lock);
    return NULL;
}

static struct aside_piece *piece_take(struct aside *a, struct row *from)
{
    struct aside_piece *p;

    pthread_mutex_lock(&a->lock);
    p = row_take(from);
    pthread_mutex_unlock(&a->lock);
    return p;
}

static void aside_on_made(evutil_socket_t fd, short what, void *arg)
{
    struct aside *a = arg;
    struct aside_piece *p;
    eventfd_t count;

    (void)what;
    eventfd_read(fd, &count);
    while ((p = piece_take(a, &a->made)))
        p->done(p);
}

struct aside *aside_open(struct event_base *base)
{
    struct aside *a = calloc(1, sizeof(*a));
    sigset_t all, before;

    if (!a)
        return NULL;
    pthread_mutex_init(&a->lock, NULL);
    pthread_cond_init(&a->change, NULL);
    a->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (a->fd >= 0)
        a->event = event_new(base, a->fd, EV_READ | EV_PERSIST, aside_on_made, a);
    if (!a->event || event_add(a->event, NULL)) {
        aside_close(a);
        return NULL;
    }
    /* A thread begins with its creator's mask, and signals are for the loop's thread. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    a->has_thread = pthread_create(&a->thread, NULL, aside_run, a) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!a->has_thread) {
        aside_close(a);
        return NULL;
    }
    return a;
}

void aside_put(struct aside *a, struct aside_piece *p)
{
    pthread_mutex_lock(&a->lock);
    row_put(&a->wanted, p);
    pthread_cond_signal(&a->change);
    pthread_mutex_unlock(&a->lock);
}

void aside_close(struct aside *a)
{
    struct aside_piece *p;

    if (!a)
        return;
    pthread_mutex_lock(&a->lock);
    a->is_closing = true;
    pthread_cond_signal(&a->change);
    pthread_mutex_unlock(&a->lock);
    if (a->has_thread)
        pthread_join(a->thread, NULL);
    while ((p = row_take(&a->made)) || (p = row_take(&a->wanted)))
        p->done(p);
    if (a->event)
        event_free(a->event);
    if (a->fd >= 0)
        close(a->fd);
    pthread_cond_destroy(&a->change);
    pthread_mutex_destroy(&a->lock);
    free(a);
}

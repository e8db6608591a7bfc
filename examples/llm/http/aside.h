/* SPDX-License-Identifier: MIT */
/*
 * aside.h: work that a request may make long, done beside the loop by a thread, one piece after the
 * other, so that the loop goes on for all others.
 */
#ifndef LLM_HTTP_ASIDE_H
#define LLM_HTTP_ASIDE_H

#include <event2/event.h>

struct aside;

/* The first member of what the owner has for a piece of work. */
struct aside_piece {
    void (*work)(struct aside_piece *p); /* in the thread */
    void (*done)(struct aside_piece *p); /* in the loop, behind work; frees the piece */
    struct aside_piece *next;
};

/* NULL: no memory, or no thread. */
struct aside *aside_open(struct event_base *base);
void aside_put(struct aside *a, struct aside_piece *p);
/* Waits for the piece that is worked at. `done` is called for all pieces, also for those that were
 * not worked at. Takes NULL. */
void aside_close(struct aside *a);

#endif

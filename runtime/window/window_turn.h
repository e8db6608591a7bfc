/* SPDX-License-Identifier: MIT */
/*
 * window_turn.h: which thread has a window's group, whose links only one thread at a time may use.
 * The window's own thread has it while no call needs it, and sleeps in poll() until something
 * comes. A caller takes it away by a byte in a pipe. The window's thread does not come back until
 * the callers have been gone for a moment (GRACE_NS), which it notices by itself: so a stream of
 * calls wakes no thread. Only the end of a call that lasts longer wakes it.
 *
 * A caller that waits for an answer keeps the turn, and moves what other callers wait for too. When
 * another caller wants the turn, it gives the turn away and waits until its own answer has come, or
 * nobody has the turn.
 */
#ifndef RUNTIME_WINDOW_WINDOW_TURN_H
#define RUNTIME_WINDOW_WINDOW_TURN_H

#include "common/fault.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct window_turn {
    pthread_mutex_t lock;
    pthread_cond_t given; /* callers wait for it */
    pthread_cond_t idle;  /* the window's thread waits for it */
    int waker[2];         /* a pipe that ends the poll() of the thread that has the turn */
    bool has_rung;        /* the waker was rung and is still readable */
    bool is_taken;
    bool is_watched;            /* by the window's thread, which has the turn */
    bool is_parked;             /* the window's thread waits until nobody has the turn */
    bool is_urgent;             /* the window's thread shall come back at once */
    bool ends;                  /* the window's thread shall end */
    unsigned wanted, followers; /* callers that want the turn; that have given it away */
    uint32_t uses;              /* how often callers have taken it */
};

/* ML_ERR_SYSTEM. */
int window_turn_open(struct window_turn *t, struct fault *why);
void window_turn_close(struct window_turn *t);

/* For callers. With `more`, something is under way that no caller waits for. */
void window_turn_take(struct window_turn *t);
/* The same, but false if another caller has or wants the turn. */
bool window_turn_try(struct window_turn *t);
void window_turn_give(struct window_turn *t, bool more);

/* For something short of a caller: true if the turn is free, which it stays until
 * window_turn_unlock. */
bool window_turn_lock(struct window_turn *t);
void window_turn_unlock(struct window_turn *t);

/* For a caller that has the turn and waits for *done, after each step: gives others theirs. False:
 * *done is true now, and this thread does not have the turn. */
bool window_turn_share(struct window_turn *t, const _Atomic bool *done);

/* For the window's thread. Waits until no caller needs the turn, and takes it. False: the thread
 * shall end. */
bool window_turn_watch(struct window_turn *t);
/* After each step of that thread: false if it has lost the turn. */
bool window_turn_keep(struct window_turn *t);
/* Makes that thread end. */
void window_turn_end(struct window_turn *t);

#endif

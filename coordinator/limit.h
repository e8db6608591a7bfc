/* SPDX-License-Identifier: MIT */
/* limit.h: how long ranks may be waited for. While the job is paused, no time passes. All functions
 * are called on the loop's thread, and times are in milliseconds. */
#ifndef COORDINATOR_LIMIT_H
#define COORDINATOR_LIMIT_H

#include <event2/event.h>
#include <stdbool.h>
#include <stdint.h>

/* A time that ends in a call. All zero: it was never opened. */
struct limit {
    struct limits *all;
    struct event *timer;
    bool is_held; /* in a pause, and left_ms are left of it */
    int64_t left_ms;
    struct limit *next;
};

/* All limits of a server, by a clock for which no pause of the job counts. `base` is set by the
 * owner, who keeps this longer than any limit. */
struct limits {
    struct event_base *base;
    bool is_paused;
    int64_t begin_ms, paused_ms; /* clock_ms: of this pause; and how long all before it were */
    struct limit *first;
};

/* Before limit_set(): what it calls, as callback(-1, EV_TIMEOUT, arg). It may be called again, with
 * the same two. 0, or -1: out of memory. */
int limit_open(struct limit *l, struct limits *all, event_callback_fn callback, void *arg);
/* In `ms`, instead of any time that was set before. 0, or -1: out of memory. */
int limit_set(struct limit *l, int64_t ms);
/* Both. */
int limit_start(struct limit *l, struct limits *all, int64_t ms, event_callback_fn callback,
                void *arg);
bool limit_is_set(const struct limit *l);
void limit_clear(struct limit *l); /* it is set no more; also of one that was never opened */
void limit_free(struct limit *l);  /* what limit_open() has made, if it was called */

int64_t limits_now_ms(const struct limits *all); /* as clock_ms, without pauses */
void limits_pause(struct limits *all);           /* nothing ends until limits_resume() */
void limits_resume(struct limits *all);

#endif

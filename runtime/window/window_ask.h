/* SPDX-License-Identifier: MIT */
/*
 * window_ask.h: asks other ranks to carry out operations on their parts, where this process can't
 * map them. The arguments have been checked; any thread may call these functions.
 */
#ifndef RUNTIME_WINDOW_WINDOW_ASK_H
#define RUNTIME_WINDOW_WINDOW_ASK_H

#include "runtime/window/window.h"

struct request;

/* The put is on its way, and `from` may be reused. signals: then adds `add` to the number at
 * `signal_offset`. */
struct window_signal {
    bool signals;
    size_t offset;
    uint64_t add;
};
int window_ask_put(struct window *w, const void *from, size_t size, int to, size_t offset,
                   struct window_signal signal, struct fault *why);
int window_ask_get(struct window *w, void *into, size_t size, int from, size_t offset,
                   struct fault *why);
int window_ask_start_put(struct window *w, const void *from, size_t size, int to, size_t offset,
                         struct request **out, struct fault *why);
int window_ask_start_get(struct window *w, void *into, size_t size, int from, size_t offset,
                         struct request **out, struct fault *why);
int window_ask_fetch_add(struct window *w, int at, size_t offset, uint64_t add, uint64_t *old,
                         struct fault *why);
int window_ask_compare_swap(struct window *w, int at, size_t offset, uint64_t expected,
                            uint64_t wanted, uint64_t *old, struct fault *why);

/* Tells the other ranks that threads of this one may sleep until its number at `offset` changes
 * (window_number.h); does not wait for their replies. */
int window_ask_sleep(struct window *w, size_t offset, struct fault *why);
/* Wakes them, when the number has changed. */
int window_ask_ring(struct window *w, int at, struct fault *why);

/* To rank `to` or ML_ALL; those whose parts are direct need nothing. */
int window_ask_flush(struct window *w, int to, struct fault *why);

/* Tell the ranks whose parts are served that this rank has called ml_window_free, and that all
 * ranks have. */
int window_ask_leave(struct window *w, struct fault *why);
int window_ask_end(struct window *w, struct fault *why);

/* Spins for has_come(arg) and moves what comes meanwhile, unless another thread does so already.
 * Returns has_come(arg). */
bool window_ask_spin(struct window *w, bool (*has_come)(void *arg), void *arg);

#endif

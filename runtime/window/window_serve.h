/* SPDX-License-Identifier: MIT */
/*
 * window_serve.h: operations on parts that this process can't map. Requests go over the links of
 * the window's group, and the target's thread carries them out, in the order in which they were
 * sent. The arguments have been checked.
 */
#ifndef RUNTIME_WINDOW_WINDOW_SERVE_H
#define RUNTIME_WINDOW_WINDOW_SERVE_H

#include "runtime/window/window.h"

/* Starts the window's thread, which serves the other ranks' requests and learns of deaths. A group
 * of one needs none. */
int window_serve_start(struct window *w, struct fault *why);
void window_serve_stop(struct window *w); /* takes a window that has not been started */

int window_serve_put(struct window *w, const void *from, size_t size, int to, size_t offset,
                     struct fault *why);
int window_serve_get(struct window *w, void *into, size_t size, int from, size_t offset,
                     struct fault *why);
int window_serve_put_signal(struct window *w, const void *from, size_t size, int to, size_t offset,
                            size_t signal_offset, uint64_t add, struct fault *why);
int window_serve_fetch_add(struct window *w, int at, size_t offset, uint64_t add, uint64_t *old,
                           struct fault *why);
int window_serve_compare_swap(struct window *w, int at, size_t offset, uint64_t expected,
                              uint64_t wanted, uint64_t *old, struct fault *why);
int window_serve_flush(struct window *w, int to, struct fault *why);

#endif

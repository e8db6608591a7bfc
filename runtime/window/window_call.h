/* SPDX-License-Identifier: MIT */
/*
 * window_call.h: the calls on a window, with their checks. Where the target's part is direct they
 * are carried out at once, otherwise by window_serve.h. Any thread.
 */
#ifndef RUNTIME_WINDOW_WINDOW_CALL_H
#define RUNTIME_WINDOW_WINDOW_CALL_H

#include "runtime/window/window.h"

struct request;

/* The checks of a put or get alone. 1: there are bytes to move. 0: there are none. */
int window_check_put(struct window *w, const void *from, size_t size, int to, size_t offset,
                     struct fault *why);
int window_check_get(struct window *w, const void *into, size_t size, int from, size_t offset,
                     struct fault *why);

/* The check of a number alone. */
int window_check_number(struct window *w, int rank, size_t offset, const char *what,
                        struct fault *why);

int window_put(struct window *w, const void *from, size_t size, int to, size_t offset,
               struct fault *why);
int window_get(struct window *w, void *into, size_t size, int from, size_t offset,
               struct fault *why);
/* *out stays NULL if it is done at once. */
int window_start_put(struct window *w, const void *from, size_t size, int to, size_t offset,
                     struct request **out, struct fault *why);
int window_start_get(struct window *w, void *into, size_t size, int from, size_t offset,
                     struct request **out, struct fault *why);
int window_put_signal(struct window *w, const void *from, size_t size, int to, size_t offset,
                      size_t signal_offset, uint64_t add, struct fault *why);
int window_wait_signal(struct window *w, size_t signal_offset, uint64_t at_least, int timeout_ms,
                       struct fault *why);
int window_flush(struct window *w, int to, struct fault *why);
int window_fetch_add(struct window *w, int at, size_t offset, uint64_t add, uint64_t *old,
                     struct fault *why);
int window_compare_swap(struct window *w, int at, size_t offset, uint64_t expected, uint64_t wanted,
                        uint64_t *old, struct fault *why);

#endif

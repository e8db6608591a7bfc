/* SPDX-License-Identifier: MIT */
/* window_join.h: makes and frees windows, whose groups come from a split and end as groups do. */
#ifndef RUNTIME_WINDOW_JOIN_H
#define RUNTIME_WINDOW_JOIN_H

#include "runtime/window/window.h"

/* As ml_window_create, for the thread that uses g; the arguments have been checked, the call on g
 * has begun, and this ends it (call_end). gpu: of window_check_memory, which is the window's. */
int window_join_create(struct window **out, struct group *g, void *memory, size_t size,
                       struct gpu_part *gpu, struct fault *why);

/* As ml_window_free, for a window that lives. */
int window_join_free(struct window *w, struct fault *why);

/* Frees all windows without waiting for other ranks. */
void window_join_end(void);
/* The same before the next membership: their calls fail with `why` from now on. */
void window_join_retire(const struct fault *why);

#endif

/* SPDX-License-Identifier: MIT */
/* window_life.h: the beginning and the end of a window. */
#ifndef RUNTIME_WINDOW_WINDOW_LIFE_H
#define RUNTIME_WINDOW_WINDOW_LIFE_H

#include "runtime/window/window.h"

/* Makes a window of g, a new group that has done nothing so far; `memory` has been checked
 * (window_check_memory), with `gpu`. Collective over g. In success g belongs to the window, and gpu
 * does in any case. ML_ERR_MEMORY on
 * all ranks if one of them has too little; ML_ERR_SYSTEM, and the errors of a call. */
int window_life_open(struct window **out, struct group *g, void *memory, size_t size,
                     struct gpu_part *gpu, struct fault *why);

/* Waits for the other ranks, as ml_window_free. Returns why the window is broken, or 0. */
int window_life_meet(struct window *w, struct fault *why);

/* Frees all but the group, which is returned for the caller to leave. */
struct group *window_life_close(struct window *w);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * window_serve.h: operations on parts that this process can't map. They are asked for over the
 * links of the window's group (window_frame.h), and whichever thread of the target has the turn
 * (window_turn.h) carries them out: the window's own thread, as long as the program makes no call.
 *
 * Bytes of a part on a GPU pass through host memory of its owner. Longer puts and gets are made of
 * several frames there (window_ask.c), so that memory is bounded, and one piece is copied while the
 * next is on its way.
 */
#ifndef RUNTIME_WINDOW_WINDOW_SERVE_H
#define RUNTIME_WINDOW_WINDOW_SERVE_H

#include "common/fault.h"

struct waiting;
struct window;

/* Makes all that a rank may lack: the window's thread, which serves the other ranks and learns of
 * deaths, and what it needs. The caller keeps the group, until window_serve_begin gives it to that
 * thread, once all ranks have started. A group of one needs none. ML_ERR_MEMORY, ML_ERR_SYSTEM;
 * window_serve_begin: the errors of a call. */
int window_serve_start(struct window *w, struct fault *why);
int window_serve_begin(struct window *w, struct fault *why);
/* First the thread ends: nothing is served, and no death noticed, any more; then the rest goes.
 * Both take a window that has not been started. */
void window_serve_end(struct window *w);
void window_serve_stop(struct window *w);

/* For the thread that has the turn. Moves what can be moved, and sleeps if nothing can. < 0: the
 * window is broken. */
int window_serve_step(struct window *w, struct waiting *waiting);
/* The same, but never sleeps. 0: it is time to sleep. */
int window_serve_look(struct window *w, struct waiting *waiting);

#endif

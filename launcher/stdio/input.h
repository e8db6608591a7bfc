/* SPDX-License-Identifier: MIT */
/*
 * input.h: standard input, read by a thread only as fast as the ranks that get it take it. With
 * several takers the slowest sets the pace. Not read while mlaunch is in its terminal's background.
 */
#ifndef LAUNCHER_STDIO_INPUT_H
#define LAUNCHER_STDIO_INPUT_H

#include "launcher/plan/plan.h"

struct event_base;
struct input;

/* What the ranks' stdin really is: the plan's mode, or STDIN_NONE for a mlaunch that was started in
 * the background of a terminal. */
enum stdin_mode input_mode(const struct plan *p);

/* `send` is called on the loop's thread with bytes for a rank; none: end of file. */
int input_open(struct input **out, struct event_base *base, const struct plan *p,
               enum stdin_mode mode,
               void (*send)(int rank, const void *bytes, size_t size, void *arg), void *arg,
               struct fault *why);
void input_close(struct input *in); /* takes NULL */

/* The ranks run (again, after a restart: what an earlier run has taken is gone). */
void input_start(struct input *in);
/* So many bytes have been taken by the rank. */
void input_on_credit(struct input *in, int rank, uint32_t bytes);
void input_rank_ended(struct input *in, int rank);
/* mlaunch may have come to the foreground. */
void input_wake(struct input *in);

#endif

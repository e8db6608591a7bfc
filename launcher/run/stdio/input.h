/* SPDX-License-Identifier: MIT */
/*
 * input.h: passes mlaunch's standard input on to ranks. A thread reads it, but only as fast as the
 * ranks that get it consume it; with several, the slowest sets the pace. Nothing is read while
 * mlaunch is in the background of its terminal. All calls on the loop's thread.
 */
#ifndef LAUNCHER_RUN_STDIO_INPUT_H
#define LAUNCHER_RUN_STDIO_INPUT_H

#include "launcher/input/plan/plan.h"

struct event_base;
struct input;
struct terminal;

/* The plan's mode; STDIN_NONE if mlaunch is in the background of its terminal, as started by
 * `mlaunch … &`. */
enum stdin_mode input_mode(const struct plan *p);

enum { INPUT_ALL = -1 };

/* `send` is called on the loop with bytes for a rank, or with INPUT_ALL for all that have not
 * ended; size 0: end of file. ML_ERR_SYSTEM, ML_ERR_MEMORY. */
int input_open(struct input **out, struct event_base *base, const struct plan *p,
               enum stdin_mode mode,
               void (*send)(int rank, const void *bytes, size_t size, void *arg), void *arg,
               struct fault *why);
void input_close(struct input *in); /* also ends a blocked read; takes NULL */

/* The terminal of --pty, which must outlive the input: it is in raw mode while its rank runs and
 * gets input. NULL: there is none. */
void input_use_terminal(struct input *in, struct terminal *t);

/* The ranks run now. After a restart they get what follows: an earlier run's input is gone. */
void input_start(struct input *in);
/* The rank has consumed that many bytes. */
void input_on_credit(struct input *in, int rank, uint32_t bytes);
void input_rank_ended(struct input *in, int rank); /* may be called more than once */
/* Call it when mlaunch may have come to the foreground: reading continues. */
void input_wake(struct input *in);

#endif

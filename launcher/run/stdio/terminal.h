/* SPDX-License-Identifier: MIT */
/*
 * terminal.h: mlaunch's own terminal, for a rank that has one (--pty): it is in raw mode while that
 * rank runs, so that each key goes to the rank as a byte, and has its old modes again afterwards,
 * however mlaunch ends, except by SIGKILL. All calls on the loop's thread, but terminal_is_raw on
 * any.
 */
#ifndef LAUNCHER_RUN_STDIO_TERMINAL_H
#define LAUNCHER_RUN_STDIO_TERMINAL_H

#include "common/fault.h"
#include "launcher/base/machine/terminal_size.h"

#include <stdbool.h>

struct event_base;
struct terminal;

/* `on_size` is called on the loop whenever the size has changed, and by terminal_enter. One at a
 * time. ML_ERR_SYSTEM, ML_ERR_MEMORY. */
int terminal_open(struct terminal **out, struct event_base *base,
                  void (*on_size)(struct terminal_size size, void *arg), void *arg,
                  struct fault *why);
void terminal_close(struct terminal *t); /* restores the modes; takes NULL */

/* Raw mode, if standard input is a terminal and mlaunch is in its foreground. Both may be called
 * again, and take NULL. */
void terminal_enter(struct terminal *t);
void terminal_leave(struct terminal *t);

/* Takes NULL. */
bool terminal_is_raw(const struct terminal *t);

#endif

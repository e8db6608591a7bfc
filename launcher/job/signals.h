/* SPDX-License-Identifier: MIT */
/* signals.h: mlaunch's own signals, turned into calls on the loop. */
#ifndef LAUNCHER_JOB_SIGNALS_H
#define LAUNCHER_JOB_SIGNALS_H

#include "common/fault.h"

struct event_base;
struct signals;

/* on_signal hears of SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGCONT, SIGUSR1 and SIGUSR2. Those
 * that were ignored when mlaunch was started (nohup, background jobs of a script) stay so. SIGPIPE
 * does nothing: writes fail with EPIPE. SIGTTIN and SIGTTOU are ignored: a background mlaunch is
 * never stopped by its terminal. */
int signals_open(struct signals **out, struct event_base *base,
                 void (*on_signal)(int signal, void *arg), void *arg, struct fault *why);
void signals_close(struct signals *s); /* what was before; takes NULL */

/* Stops this process as Ctrl-Z does; returns when it goes on (at once if nobody could continue it).
 */
void signals_stop_self(struct signals *s);

#endif

/* SPDX-License-Identifier: MIT */
/* signals.h: turns mlaunch's own signals into calls on the loop. */
#ifndef LAUNCHER_RUN_JOB_SIGNALS_H
#define LAUNCHER_RUN_JOB_SIGNALS_H

#include "common/fault.h"
#include "launcher/base/process/signal_sender.h"

struct event_base;
struct signals;

/* on_signal is called, on the loop, for SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGCONT, SIGUSR1
 * and SIGUSR2. Those that were ignored when mlaunch was started (by nohup, or by a shell for
 * background jobs of a script) stay ignored. SIGPIPE and SIGXFSZ have no effect: writes fail with
 * EPIPE and EFBIG. SIGTTIN and SIGTTOU are ignored, so that its terminal never stops a mlaunch in
 * the background.
 * ML_ERR_SYSTEM, ML_ERR_MEMORY. */
int signals_open(struct signals **out, struct event_base *base,
                 void (*on_signal)(int signal, const struct signal_sender *from, void *arg),
                 void *arg, struct fault *why);
void signals_close(struct signals *s); /* restores what was before; takes NULL */

#endif

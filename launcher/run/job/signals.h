/* SPDX-License-Identifier: MIT */
/* signals.h: turns mlaunch's own signals into calls on the loop. */
#ifndef LAUNCHER_RUN_JOB_SIGNALS_H
#define LAUNCHER_RUN_JOB_SIGNALS_H

#include "common/fault.h"

#include <stdbool.h>

struct event_base;
struct signals;

enum { SIGNAL_SENDER_NAME = 16 };

/* What is known of the process that sent a signal. */
struct signal_sender {
    bool is_kernel; /* no process: a key of the terminal (Ctrl-C), or the terminal's end (SIGHUP) */
    int pid;        /* 0: unknown, as for a process of another container */
    char name[SIGNAL_SENDER_NAME]; /* its program's; "": unknown */
};

/* on_signal is called, on the loop, for SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGCONT, SIGUSR1
 * and SIGUSR2. Those that were ignored when mlaunch was started (by nohup, or by a shell for
 * background jobs of a script) stay ignored. SIGPIPE has no effect: writes fail with EPIPE. SIGTTIN
 * and SIGTTOU are ignored, so that its terminal never stops a mlaunch in the background.
 * ML_ERR_SYSTEM, ML_ERR_MEMORY. */
int signals_open(struct signals **out, struct event_base *base,
                 void (*on_signal)(int signal, const struct signal_sender *from, void *arg),
                 void *arg, struct fault *why);
void signals_close(struct signals *s); /* restores what was before; takes NULL */

/* Stops this process as Ctrl-Z does, and returns when it is continued. Returns at once if the
 * kernel ignores the stop because no shell could continue the process. */
void signals_stop_self(void);

#endif

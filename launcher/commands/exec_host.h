/* SPDX-License-Identifier: MIT */
/*
 * exec_host.h: runs a command on one host, as a job of its own in a child process, so that hosts
 * that cannot be reached, die or take long do not disturb the others. Linux: prctl ends the child
 * when its parent is gone.
 */
#ifndef LAUNCHER_COMMANDS_EXEC_HOST_H
#define LAUNCHER_COMMANDS_EXEC_HOST_H

#include "common/fault.h"
#include "launcher/input/plan/plan.h"

#include <event2/event.h>
#include <sys/types.h>

struct exec_host {
    void *run;  /* whose host it is, for on_bytes */
    int rank;   /* the plan's rank, the only one on its host */
    pid_t pid;  /* 0: not started, or ended */
    int fds[2]; /* to be read: its standard output and standard error; -1: at their end */
    struct event *events[2];
};

/* Starts the child. `on_bytes` gets `h` when a stream can be read, so *h must stay where it is.
 * ML_ERR_SYSTEM. */
int exec_host_start(struct exec_host *h, struct event_base *base, struct plan *p,
                    event_callback_fn on_bytes, struct fault *why);

/* Stops watching a stream that has ended. */
void exec_host_close(struct exec_host *h, int stream);

#endif

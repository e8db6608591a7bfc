/* SPDX-License-Identifier: MIT */
/* remote_wait.h: waits of a connection's thread, which end at a deadline or when the channel is
 * closed, whichever comes first. */
#ifndef LAUNCHER_WIRE_SSH_REACH_REMOTE_WAIT_H
#define LAUNCHER_WIRE_SSH_REACH_REMOTE_WAIT_H

#include "common/fault.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct remote_wait {
    int wake;            /* an eventfd that stays readable once the channel is being closed */
    int64_t deadline_ms; /* on clock_ms */
};

/* Waits for poll() `events` on fd (-1: only for the deadline). 0: they have come. ML_ERR_TIMEOUT:
 * the deadline has passed; the caller replaces the text. ML_ERR_STATE: the channel is being closed.
 * ML_ERR_SYSTEM: poll() failed. */
int remote_wait_for(const struct remote_wait *w, int fd, short events, struct fault *why);

/* Waits for the end of a child that leads a process group, and reaps it: *status is waitpid's. If
 * the wait ends before, the group is ended, first by SIGTERM. Errors as remote_wait_for(). */
int remote_wait_group(const struct remote_wait *w, pid_t pid, int *status, struct fault *why);

/* For library calls without a deadline. Until the watch ends, a thread of its own shuts both
 * sockets (-1: none) down at the deadline or when the channel is closed, so that the call fails.
 * The sockets must stay open until then. */
struct remote_watch;
int remote_watch_begin(struct remote_watch **out, const struct remote_wait *w, int fd, int other_fd,
                       struct fault *why);
void remote_watch_extend(struct remote_watch *watch, int64_t deadline_ms);
/* Returns whether it has shut the sockets down. Takes NULL. */
bool remote_watch_end(struct remote_watch *watch);

#endif

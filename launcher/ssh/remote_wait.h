/* SPDX-License-Identifier: MIT */
/*
 * remote_wait.h: every wait of a connection's thread ends at a deadline or when the channel is
 * closed, whichever comes first.
 */
#ifndef LAUNCHER_SSH_REMOTE_WAIT_H
#define LAUNCHER_SSH_REMOTE_WAIT_H

#include "common/fault.h"

#include <stdbool.h>
#include <stdint.h>

struct remote_wait {
    int wake;            /* readable for good once the channel is being closed */
    int64_t deadline_ms; /* of clock_ms */
};

/* Waits for `events` on fd (-1: only for the time to pass). 0: they are there. ML_ERR_TIMEOUT: the
 * deadline has passed, and the sentence is the caller's. ML_ERR_STATE: the channel is being closed.
 */
int remote_wait_for(const struct remote_wait *w, int fd, short events, struct fault *why);

/* For the calls that can't be told to return: until the watch ends, a thread of its own shuts the
 * sockets down
 * (-1: none) at the deadline or when the channel is closed, so that the call fails. The sockets
 * must stay open until then. */
struct remote_watch;
int remote_watch_begin(struct remote_watch **out, const struct remote_wait *w, int fd, int other_fd,
                       struct fault *why);
void remote_watch_extend(struct remote_watch *watch, int64_t deadline_ms);
/* Whether it had to. Takes NULL. */
bool remote_watch_end(struct remote_watch *watch);

#endif

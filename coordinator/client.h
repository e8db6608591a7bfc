/* SPDX-License-Identifier: MIT */
/*
 * client.h: a rank's connection to the coordinator, for the runtime: blocking calls with poll(), no
 * loop, no threads, no signal handlers. Not thread-safe: the runtime holds a lock.
 */
#ifndef COORDINATOR_CLIENT_H
#define COORDINATOR_CLIENT_H

#include "common/auth.h"
#include "common/fault.h"
#include "common/frame.h"

#include <stdbool.h>

struct client;

/* Connects to "addr:port" and proves the rank's identity; deadline in clock_ms. */
int client_open(struct client **out, const char *coordinator, const char *job,
                const uint8_t secret[AUTH_SECRET], int rank, uint32_t generation,
                int64_t deadline_ms, struct fault *why);
void client_close(struct client *c);   /* takes NULL */
int client_fd(const struct client *c); /* readable: call client_poll */

/* Sends one frame (blocking until it is in the socket; the coordinator always reads). */
int client_send(struct client *c, uint8_t type, const void *payload, uint32_t size,
                struct fault *why);

/* The next frame that is there, without blocking: 1 and *out (valid until the next call), 0 none,
 * ML_ERR_PEER: the connection is gone (the job is ending). */
int client_poll(struct client *c, struct frame *out, struct fault *why);

#endif

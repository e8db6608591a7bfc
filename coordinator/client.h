/* SPDX-License-Identifier: MIT */
/*
 * client.h: a rank's connection to the coordinator, for the runtime: blocking calls with poll(),
 * without a loop, threads or signal handlers. Not thread-safe: the runtime holds a lock.
 */
#ifndef COORDINATOR_CLIENT_H
#define COORDINATOR_CLIENT_H

#include "common/fault.h"
#include "common/net/auth.h"
#include "common/net/frame.h"

#include <stdbool.h>

struct client;

/* Connects to this host's agent, if it has a socket in `directory`, the job's (NULL: none), else to
 * the coordinator at "addr:port", and proves the rank's identity until deadline_ms (clock_ms).
 * Tries again as long if the other side closes the connection before it has admitted the rank, as
 * it may when too many strangers connect to it. ML_ERR_TIMEOUT; ML_ERR_PEER: nobody listens;
 * ML_ERR_REFUSED. */
int client_open(struct client **out, const char *coordinator, const char *directory,
                const char *job, const uint8_t secret[AUTH_SECRET], int rank, uint32_t generation,
                int64_t deadline_ms, struct fault *why);
void client_close(struct client *c);   /* takes NULL */
int client_fd(const struct client *c); /* when readable, call client_poll */

/* Sends one frame. Blocks until the socket has taken it, which is soon: the coordinator always
 * reads. ML_ERR_PEER: the connection is lost. */
int client_send(struct client *c, uint8_t type, const void *payload, uint32_t size,
                struct fault *why);

/* Reads the next frame without blocking. 1: *out is set and valid until the next call; 0: there is
 * none; ML_ERR_PEER: the connection is closed (the job is ending). */
int client_poll(struct client *c, struct frame *out, struct fault *why);

#endif

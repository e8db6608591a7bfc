/* SPDX-License-Identifier: MIT */
/* keeper_serve.h: one connection of a rank of another host, which has its slots (ml_keep) copied to
 * this host, or gets them back. A copy is a file like the slot: its head is zeros until all of it
 * has come, so a copy that is torn is never taken for one that is whole. What the head says is for
 * ranks to judge. */
#ifndef LAUNCHER_AGENT_KEEPER_KEEPER_SERVE_H
#define LAUNCHER_AGENT_KEEPER_KEEPER_SERVE_H

#include "common/net/auth.h"
#include "common/net/kept_stream.h"

#include <stdbool.h>

/* What the child knows of the job. */
struct keeper_job {
    char *dir, *job; /* the job directory; the job's id */
    uint8_t secret[AUTH_SECRET];
    int size; /* ranks that there may ever be */
    bool is_secure;
};

/* Serves the peer on `fd`, which it takes over, until it closes the connection or breaks the
 * protocol. on_shaken: NULL, or called as soon as the handshake has ended, well or not. Blocks; any
 * thread. */
void keeper_serve(const struct keeper_job *job, int fd, void (*on_shaken)(void *arg), void *arg);
/* The same for a peer that has proved that it is that rank. */
void keeper_answer(const struct keeper_job *job, struct kept_stream *stream, int rank);

#endif

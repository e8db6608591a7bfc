/* SPDX-License-Identifier: MIT */
/*
 * server.h: the coordinator's service on a libevent loop, in a process that ignores SIGPIPE. It runs
 * in rank 0's agent. It knows nothing of what the blobs mean.
 */
#ifndef COORDINATOR_SERVER_H
#define COORDINATOR_SERVER_H

#include "common/address.h"
#include "common/auth.h"
#include "common/fault.h"
#include "coordinator/server_events.h"

struct event_base;
struct server;

struct server_config {
    const char *job;       /* copied */
    const uint8_t *secret; /* AUTH_SECRET bytes, copied */
    int size;              /* ranks in all */
    int hosts;
    const int *host_of;            /* per rank: index of its host; copied */
    const char *const *host_names; /* per host; copied */
    int stall_ms;                  /* report a call that waits longer than this; 0: never */
    const char *bind_ip;
    uint16_t port; /* 0: any */
};

/* Listens. The base must outlive the server. ML_ERR_SYSTEM names address and port. */
int server_open(struct server **out, struct event_base *base, const struct server_config *config,
                const struct server_events *events, struct fault *why);
const struct address *server_address(const struct server *s);
void server_close(struct server *s); /* closes all connections; takes NULL */

/* What the agent that the coordinator lives in knows of its own ranks (other agents connect): the first
 * process of `rank`, `pid`, has ended; `text` as in "was killed by signal 9 (Killed) on host b (pid 4711)". */
void server_rank_exited(struct server *s, int rank, int64_t pid, const char *text);

#endif

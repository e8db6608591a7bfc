/* SPDX-License-Identifier: MIT */
/*
 * agent_link.h: an agent's connection to a coordinator that runs in another agent, to which it
 * reports how its ranks ended. It runs on the agent's libevent loop, in a process that ignores
 * SIGPIPE. All functions are called on the loop's thread.
 */
#ifndef COORDINATOR_AGENT_LINK_H
#define COORDINATOR_AGENT_LINK_H

#include "common/auth.h"
#include "common/fault.h"

struct event_base;
struct agent_link;

/* Starts to connect to "addr:port" as the agent of host number `host`. Reports that are made before
 * the coordinator has admitted the agent are sent then. If the coordinator closes the connection
 * before (too many strangers connect to it), or is silent, the agent tries again for timeout_ms,
 * but not for longer than HANDSHAKE_MS while it cannot connect at all. on_lost is called once if
 * the connection cannot be made or is lost; the object stays valid and must still be closed.
 * ML_ERR_ARGUMENT: a malformed address. */
int agent_link_open(struct agent_link **out, struct event_base *base, const char *coordinator,
                    const char *job, const uint8_t secret[AUTH_SECRET], int host, int timeout_ms,
                    void (*on_lost)(const char *text, void *arg), void *arg, struct fault *why);
/* Reports the end of a rank, as server_rank_exited does. */
void agent_link_exited(struct agent_link *l, int rank, int64_t pid, const char *text);
/* Closes the connection after an attempt to write what is still to be sent. Takes NULL. */
void agent_link_close(struct agent_link *l);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * agent_link.h: an agent's connection to a coordinator that lives in another agent: it tells how its
 * ranks ended. On the agent's libevent loop, in a process that ignores SIGPIPE.
 */
#ifndef COORDINATOR_AGENT_LINK_H
#define COORDINATOR_AGENT_LINK_H

#include "common/auth.h"
#include "common/fault.h"

struct event_base;
struct agent_link;

/* Starts to connect; what is sent before the handshake is over is kept and sent then. on_lost is
 * called once if the connection can't be made or is lost (the object stays valid; close it). */
int agent_link_open(struct agent_link **out, struct event_base *base, const char *coordinator,
                    const char *job, const uint8_t secret[AUTH_SECRET], int host,
                    void (*on_lost)(const char *text, void *arg), void *arg, struct fault *why);
/* As server_rank_exited. */
void agent_link_exited(struct agent_link *l, int rank, int64_t pid, const char *text);
void agent_link_close(struct agent_link *l); /* takes NULL */

#endif

/* SPDX-License-Identifier: MIT */
/*
 * agent_client.h: an agent's connection to a coordinator that runs in another agent, to which it
 * reports how its ranks ended, and through which it exchanges bytes with all other agents. It runs
 * on the agent's libevent loop, in a process that ignores SIGPIPE. All functions are called on the
 * loop's thread.
 */
#ifndef COORDINATOR_HOST_AGENT_CLIENT_H
#define COORDINATOR_HOST_AGENT_CLIENT_H

#include "common/fault.h"
#include "common/net/auth.h"
#include "common/net/frame.h"

#include <stdbool.h>
#include <stddef.h>

struct event_base;
struct agent_client;

/* Called on the loop's thread; within them the client must not be closed, except in on_lost. What
 * is pointed to is valid during the call. on_lost may be called once. */
struct agent_client_events {
    void (*on_lost)(const char *text, void *arg);
    void (*on_exchanged)(uint32_t number, const void *bytes, size_t size, void *arg);
    /* Answers agent_client_name; `port` is "" unless a name was looked up and found. */
    void (*on_named)(int ask, bool is_done, const char *port, void *arg);
    void (*on_passed)(int host, const void *bytes, size_t size, void *arg); /* as the server's */
    /* For the ranks that talk to this agent (host_relay.h); each may be NULL. A frame for `count`
     * channels, which are u32 in network order. */
    void (*on_to_ranks)(const uint8_t *channels, uint32_t count, uint8_t type, const void *payload,
                        size_t size, void *arg);
    void (*on_rank_dropped)(uint32_t channel, void *arg);
    void (*on_drained)(void *arg); /* little of what was to be sent is left */
    void *arg;
};

/* Starts to connect to "addr:port" as the agent of host number `host`; `placed`: how many other
 * hosts had that place before. Reports that are made before the coordinator has admitted the agent
 * are sent then. If the coordinator closes the connection
 * before (too many strangers connect to it), or is silent, the agent tries again for timeout_ms,
 * but not for longer than HANDSHAKE_MS while it cannot connect at all. on_lost is called once if
 * the connection cannot be made or is lost; the object stays valid and must still be closed.
 * ML_ERR_ARGUMENT: a malformed address. */
int agent_client_open(struct agent_client **out, struct event_base *base, const char *coordinator,
                      const char *job, const uint8_t secret[AUTH_SECRET], int host, uint32_t placed,
                      int timeout_ms, const struct agent_client_events *events, struct fault *why);
/* Reports the end of a rank, as server_rank_exited does. */
void agent_client_exited(struct agent_client *c, int rank, int64_t pid, const char *text);
/* Shares in an exchange, as server_share does. */
void agent_client_share(struct agent_client *c, uint32_t number, const void *bytes, size_t size);
/* Passes bytes to the agent of that host, as server_pass does. */
void agent_client_pass(struct agent_client *c, int host, const void *bytes, size_t size);
/* Asks for a name, as server_name does; `ask` comes back in the answer. `port` may be NULL. */
void agent_client_name(struct agent_client *c, int ask, const char *what, const char *service,
                       const char *port);
/* For host_relay.c: a rank has proved itself to this agent, it has sent a frame, its connection has
 * ended. */
void agent_client_rank_opened(struct agent_client *c, uint32_t channel, int rank,
                              uint32_t generation);
void agent_client_rank_sent(struct agent_client *c, uint32_t channel, const struct frame *f);
void agent_client_rank_closed(struct agent_client *c, uint32_t channel);
size_t agent_client_unsent(const struct agent_client *c); /* bytes */
/* Closes the connection after an attempt to write what is still to be sent. Takes NULL. */
void agent_client_close(struct agent_client *c);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * server.h: the coordinator, a service on a libevent loop in rank 0's agent, a process that ignores
 * SIGPIPE. Ranks meet in it, exchange blobs of bytes that mean nothing to it, and learn who has
 * died. All functions are called on the loop's thread.
 */
#ifndef COORDINATOR_SERVICE_SERVER_H
#define COORDINATOR_SERVICE_SERVER_H

#include "common/fault.h"
#include "common/net/address.h"
#include "common/net/auth.h"
#include "coordinator/server_events.h"

#include <stdbool.h>

struct event_base;
struct server;

struct server_config {
    const char *job;       /* copied */
    const uint8_t *secret; /* AUTH_SECRET bytes, copied */
    int size;              /* number of ranks */
    /* That there may ever be, by server_grow(); 0: `size`. As many hosts may come, too. */
    int most;
    int hosts;                     /* number of hosts */
    const int *host_of;            /* for each rank the index of its host; copied */
    const char *const *host_names; /* for each host; copied */
    const char *directory;         /* this host's of the job; copied; NULL: ranks share no copy */
    int stall_ms;                  /* how long a call may wait until it is reported; 0: for ever */
    int leavers_ms;                /* for how long ranks that leave are gathered; 0: LEAVERS_MS */
    /* It takes over from a coordinator that is lost, of which it knows only how often the members
     * had changed. The ranks come to it in ml_repair; ranks and hosts may be new to them. */
    bool takes_over;
    bool is_unmet; /* at that one the ranks had never met */
    uint32_t membership;
    /* Processes may come to take the places of dead ranks; ml_repair waits so long for each. */
    bool replaces;
    int replace_ms;
    const char *bind_ip;
    uint16_t port; /* 0: any */
};

/* Starts to listen. `base` must outlive the server. ML_ERR_SYSTEM names address and port. */
int server_open(struct server **out, struct event_base *base, const struct server_config *config,
                const struct server_events *events, struct fault *why);
const struct address *server_address(const struct server *s);
void server_close(struct server *s); /* closes all connections; takes NULL */

/* For the relay (host/host_relay.h), which is a server with handlers of its own: one that does not
 * listen yet. ML_ERR_ARGUMENT, ML_ERR_MEMORY. */
int server_create(struct server **out, struct event_base *base, const struct server_config *config,
                  const struct server_events *events, struct fault *why);
/* Accepts connections on `listener`, which it takes over, also in error. ML_ERR_MEMORY. */
int server_listen(struct server *s, int listener, struct fault *why);

/* Called by the agent that the coordinator runs in, for its own ranks (other agents use
 * agent_client.h): the first process of `rank`, `pid`, has ended. text: "was killed by signal 9
 * (Killed) on host b (pid 4711)". */
void server_rank_exited(struct server *s, int rank, int64_t pid, const char *text);

/* The coordinator's own agent shares in an exchange among all agents (the others use
 * agent_client.h), whose number they have agreed upon. on_exchanged follows, perhaps within the
 * call. ML_ERR_REFUSED: it has come before, or is too large; ML_ERR_MEMORY. */
int server_share(struct server *s, uint32_t number, const void *bytes, size_t size,
                 struct fault *why);
/* The coordinator's own agent passes bytes, at least one, to the agent of another host, once that
 * has connected. ML_ERR_ARGUMENT: there is no such host; ML_ERR_REFUSED: too much waits;
 * ML_ERR_MEMORY. */
int server_pass(struct server *s, int host, const void *bytes, size_t size, struct fault *why);
/* The same for a name, as names.h describes it. */
bool server_name(struct server *s, const char *what, const char *service, const char **port);

/* mlaunch has lost that host, perhaps before its connection to the coordinator ends: its ranks are
 * dead to the others, and its agent is not heard any more. `placed` as agent_client_open() has it:
 * if the agent of a later one has connected before this is known, nothing happens any more. */
void server_host_gone(struct server *s, int host, uint32_t placed);

/* Another host has that place from now on, or it is a further one, behind the last. Nothing happens
 * if there is no room. */
void server_host_place(struct server *s, int host, const char *name);

/* Nobody takes the place of that rank, which has ended: it is not waited for, also if its own
 * agent, perhaps gone as well, has not reported the end to a coordinator that has taken over. */
void server_rank_vacant(struct server *s, int rank);

/* That rank, which may still run, is taken out of the job: it is dead to the others, and nobody
 * takes its place. */
void server_rank_leaves(struct server *s, int rank);

/* There is another rank, on that host; its process comes as a newcomer. Nothing happens if there
 * are as many as there may be. */
void server_grow(struct server *s, int host);

/* The ranks are stopped; and they go on. Meanwhile no time passes for those that wait for others in
 * ml_init, ml_repair or ml_group_create. */
void server_pause(struct server *s);
void server_resume(struct server *s);

/* Reports each call that ranks wait in now through on_stall, also those that were reported
 * before. */
void server_tell_waits(struct server *s);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * server_state.h: the state that the coordinator's files share: its connections, the ranks that
 * have joined, and their groups. All of it belongs to the loop's thread.
 *
 *   server ─┬─ connection…   a socket; after the handshake that of a rank or an agent
 *           ├─ server_rank…  for each rank: how its first process ended
 *           └─ generation… ─┬─ generation_rank…  for each rank: whether it has joined and is alive
 *                           └─ server_group… ─── server_seat…  for each member: what it has sent
 *
 * A generation is the n-th claims of all ranks: a process claims its rank in ml_init, and again if
 * it calls ml_init after ml_finalize.
 */
#ifndef COORDINATOR_SERVER_STATE_H
#define COORDINATOR_SERVER_STATE_H

#include "common/fault.h"
#include "common/net/address.h"
#include "common/net/auth.h"
#include "common/net/frame.h"
#include "common/net/strangers.h"
#include "coordinator/limit.h"
#include "coordinator/names.h"
#include "coordinator/server_events.h"

#include <event2/event.h>
#include <stdbool.h>
#include <sys/queue.h>

enum {
    LEAVERS_MS = 10, /* from the first rank that leaves until the others are told which have left */
};

struct bufferevent;
struct generation;

/*
 * HANDSHAKE ──proof──▶ RANK or AGENT ──end of the socket, or a malformed frame──▶ CLOSED
 *     └──no proof──▶ LINGER (a refusal is being sent) ──▶ CLOSED
 *
 * A closed connection is freed by the sweeper, outside of all callbacks: a callback may go on using
 * it until it returns.
 */
enum connection_state {
    CONNECTION_HANDSHAKE,
    CONNECTION_LINGER,
    CONNECTION_RANK,
    CONNECTION_AGENT,
    CONNECTION_CLOSED,
};

TAILQ_HEAD(connection_list, connection);

struct connection {
    struct stranger stranger; /* in HANDSHAKE and LINGER */
    struct server *server;
    enum connection_state state;
    struct bufferevent *stream;
    struct frame_reader *reader;
    struct auth *auth;      /* during the handshake */
    struct event *deadline; /* in HANDSHAKE and LINGER */
    char peer[ADDRESS_TEXT];
    int rank;                      /* RANK */
    uint32_t number;               /* RANK: number of its generation */
    struct generation *generation; /* RANK: set once it has joined */
    int host;                      /* AGENT: index of its host */
    /* AGENT: its ranks that talk to it, and the channels of those that get the next frame */
    struct connection_list relayed;
    int relayed_count;
    uint8_t *cast;
    size_t cast_count, cast_room;
    /* RANK that talks to its host's agent: that agent's connection; `stream` is NULL */
    struct connection *agent;
    uint32_t channel; /* also where the agent relays (host/host_relay.h) */
    size_t discarded; /* LINGER: bytes read and ignored */
    TAILQ_ENTRY(connection) entry;
};

/*
 * A rank beyond generations: how its process has ended, and who comes to take its place. It lives
 * as long as the server, which has one for each number that a rank may have.
 */
struct server_rank {
    bool has_exited; /* its first process has ended, or its host is lost */
    bool is_lost;    /* its host is lost */
    bool has_joined; /* a generation */
    int64_t exit_pid;
    char *exit_text;             /* "was killed by signal 9 (Killed) on host b (pid 4711)" */
    bool is_vacant;              /* it is gone, and nobody takes its place */
    int replaced;                /* the number of the last process that came to take it */
    struct connection *newcomer; /* that process waits for the next world; NULL: none does */
    int64_t newcomer_pid;
    bool owes_exit; /* it came before the end of the one before it was reported */
};

/* Where connections come in, from server_listen() to server_close(). */
struct server_door {
    struct address address;
    int listener; /* -1: none */
    struct event *on_accept, *accept_again;
    struct strangers strangers; /* who has not proved itself yet */
    unsigned refused;
};

/* Reports of ranks that keep others waiting (meeting.c, stall.c). */
struct server_stalls {
    int after_ms; /* how long somebody may wait until it is reported; 0: for ever */
    struct limit limit;
    int64_t due_ms; /* when `limit` ends; 0: it is not set */
};

/* What agents have for each other (agent_exchange.c), until agent_exchange_clear(). */
struct server_agents {
    struct agent_exchange *exchanges; /* those under way */
    struct agent_pass *passes;        /* for agents that are not connected yet */
    size_t passes_size;               /* bytes of them all */
    struct names names;
};

/* What a server does with its connections: the service (server.c), or an agent's relay. */
struct server_handlers {
    /* A peer has proved its identity; sets the connection's state, or returns false and says why
     * the peer is refused. */
    bool (*on_identity)(struct connection *c, const struct auth_identity *id, char *text,
                        size_t size);
    /* A rank or agent has sent a frame. Negative: it is malformed, and `why` is filled. */
    int (*on_frame)(struct connection *c, const struct frame *f, struct fault *why);
    void (*on_agent)(struct connection *c); /* an agent is admitted */
    /* The connection has ended, which `was` a RANK or AGENT. */
    void (*on_closed)(struct connection *c, enum connection_state was);
};

struct server {
    struct event_base *base;
    struct limits limits;
    char job[AUTH_JOB];
    uint8_t secret[AUTH_SECRET];
    int size, hosts, leavers_ms;
    int began, most;           /* ranks: at the start, and for which there is room */
    int hosts_most;            /* hosts for which there is room */
    bool takes_over, replaces; /* these four: as server_config has them */
    uint32_t membership;
    int replace_ms;
    int *host_of;
    char **host_names;
    bool has_placed; /* a host: the ranks learn of it by REPAIRED */
    char *directory;
    uint32_t copies;  /* written so far, for ranks of this host */
    bool *has_agent;  /* for each host: its agent is connected */
    uint32_t *placed; /* … how many others had its place before (agent_client.h) */
    struct server_events events;
    struct server_handlers handlers;
    struct server_door door;
    struct server_stalls stalls;
    struct server_agents agents;
    struct event *sweeper;
    struct server_rank *ranks;
    int exited;   /* ranks with has_exited */
    bool has_met; /* all ranks have met in ml_init, here or at the coordinator before */
    struct generation *generations;
    struct connection_list known, closed; /* known: RANK or AGENT */
    struct host_relay *relay; /* if this server is an agent's relay; NULL: it is the coordinator */
};

#endif

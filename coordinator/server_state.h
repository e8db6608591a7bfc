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
#include "coordinator/names.h"
#include "coordinator/next_world.h"
#include "coordinator/server_events.h"

#include <event2/event.h>
#include <jansson.h>
#include <stdbool.h>
#include <sys/queue.h>

enum {
    LEAVERS_MS = 10, /* from the first rank that leaves until the others are told which have left */
};

struct bufferevent;
struct generation;

/* How long ranks may be waited for (limit.c). All zero: not set. */
struct limit {
    struct limits *all;
    struct event *timer;
    bool is_held; /* in a pause, and left_ms are left of it */
    int64_t left_ms;
    struct limit *next;
};

/* A server has these, by a clock for which no pause of the job counts. */
struct limits {
    struct event_base *base;
    bool is_paused;
    int64_t begin_ms, paused_ms; /* clock_ms: of this pause; and how long all before it were */
    struct limit *first;
};

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

/*
 * A rank's part in one generation: the process that has claimed the rank there, and what has become
 * of it. It lives as long as the generation, which has one for each number, ABSENT until the rank
 * joins; a newcomer gets that of the process before it. It is no member: members are ranks of a
 * group.
 */
struct generation_rank {
    enum rank_state state;
    struct generation *generation;
    int rank;
    int64_t pid;
    struct connection *connection; /* NULL once closed */
    struct event *timer;           /* waits for the agent's report; NULL until needed */
    char *abort_text;              /* the reason that it gave to ml_abort */
    bool is_untold;                /* LEFT: the others have not been told yet */
    bool has_repaired;             /* JOINED: it waits for the next membership */
};

/* The call that a rank waits in, as it has reported it. */
struct server_wait {
    bool is_waiting, is_reported;
    uint32_t seq; /* 0: point-to-point */
    int64_t since_ms;
    char *call, *signature;
    char *
        untyped; /* the signature without its type, which others may leave out; NULL: it has none */
    char *place; /* in the program, or "" */
    int *peers;  /* world ranks */
    int peer_count;
};

struct server_seat {
    int rank; /* world rank */
    bool has_freed;
    uint8_t *blobs; /* the pending EXCHANGE, each rank's with its length; NULL: not come yet */
    uint32_t blob_count;
    bool has_split;
    int color, key;
    bool has_agreed; /* in the pending AGREE */
    uint64_t agreed;
    struct server_wait wait;
};

/* Ranks that wait for others without a WAITING: in JOIN, EXCHANGE, SPLIT or AGREE (meeting.c). */
struct server_meeting {
    int64_t since_ms; /* when the first of them came; 0: nobody waits */
    bool is_reported;
};

struct server_group {
    struct generation *generation;
    uint32_t id;
    bool is_window; /* as a member has said */
    int count;
    struct server_seat *seats;
    struct fault broken; /* by a BREAK or a mismatch; all members were told */
    struct fault lost;   /* a member has died or left, so no exchange can complete */
    uint32_t exchange_seq, split_seq;
    int exchange_count, split_count;         /* members that have come to the pending one */
    struct server_meeting meeting, agreeing; /* the latter in AGREE */
    int freed;
    struct server_group *next;
};

/* Ranks that are in ml_group_create, and those that they have named and wait for. */
struct server_creation {
    struct generation *generation;
    uint32_t parent;
    uint64_t tag;
    int count, come;
    int *ranks;     /* world ranks, in the order of the new group */
    bool *has_come; /* the same */
    struct limit limit;
    struct server_meeting meeting;
    struct server_creation *next;
};

struct generation {
    struct server *server;
    uint32_t number;
    struct generation_rank *ranks; /* one for each rank */
    int joined;
    struct server_meeting meeting; /* until all have joined */
    bool is_complete;
    struct fault failed;   /* code != 0: the answer to every rank that joins */
    struct limit limit;    /* the shortest time-out of those that joined */
    struct event *leavers; /* tells which ranks have left; NULL until needed */
    int64_t deadline_ms, timeout_ms;
    struct server_group *groups; /* the world last */
    struct server_creation *creations;
    uint32_t next_group;
    uint32_t membership; /* how often the members of its world have changed (membership.c) */
    uint32_t world;      /* the number of its group; those below are of earlier memberships */
    bool is_repairing;   /* a rank has sent REPAIR */
    struct limit repair_limit;
    struct limit place_limit; /* all that live have come, and wait for newcomers */
    bool has_waited;          /* for them, long enough */
    struct generation *next;
};

struct server {
    struct event_base *base;
    struct limits limits;
    char job[AUTH_JOB];
    uint8_t secret[AUTH_SECRET];
    int size, hosts, stall_ms, leavers_ms;
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
    struct address address;
    int listener;
    struct event *on_accept, *accept_again, *sweeper;
    struct limit stall_limit;
    int64_t stall_due_ms; /* when stall_limit ends; 0: it is not set */
    struct server_rank *ranks;
    int exited; /* ranks with has_exited */
    struct generation *generations;
    struct agent_exchange *agent_exchanges; /* those under way */
    struct agent_pass *passes;              /* for agents that are not connected yet */
    size_t passes_size;
    struct names names;
    struct strangers strangers;
    struct connection_list known, closed; /* known: RANK or AGENT */
    struct host_relay *relay; /* if this server is an agent's relay; NULL: it is the coordinator */
    /* Called by connection.c. on_identity: a peer has proved its identity; sets the connection's
     * state, or returns false and says why the peer is refused. on_frame: a rank or agent has sent
     * a frame (receive_frame). on_closed: its connection has ended, which `was` a RANK or AGENT
     * (liveness_on_closed). */
    bool (*on_identity)(struct connection *c, const struct auth_identity *id, char *text,
                        size_t size);
    int (*on_frame)(struct connection *c, const struct frame *f, struct fault *why);
    void (*on_agent)(struct connection *c); /* an agent is admitted: agent_exchange_on_agent */
    void (*on_closed)(struct connection *c, enum connection_state was);
    unsigned refused;
};

/* limit.c */
/* Before limit_set(): what it calls, as callback(-1, EV_TIMEOUT, arg). It may be called again, with
 * the same two. 0, or -1: out of memory. */
int limit_open(struct limit *l, struct limits *all, event_callback_fn callback, void *arg);
/* In `ms`, instead of any time that was set before. 0, or -1: out of memory. */
int limit_set(struct limit *l, int64_t ms);
/* Both. */
int limit_start(struct limit *l, struct limits *all, int64_t ms, event_callback_fn callback,
                void *arg);
bool limit_is_set(const struct limit *l);
void limit_clear(struct limit *l);
void limit_free(struct limit *l);
int64_t limits_now_ms(const struct limits *all); /* as clock_ms, without pauses */
void limits_pause(struct limits *all);
void limits_resume(struct limits *all);

/* connection.c */
void connection_accept(struct server *s, int fd);
void connection_drop(struct connection *c);
/* Drops a rank or agent that sent a malformed frame. The rank is then dead to the others. */
void connection_cut_off(struct connection *c, const struct fault *why);
/* Drops one that has not proved itself, for want of descriptors; false: there is none. */
bool connection_push_out(struct server *s);
void connection_free_all(struct connection_list *list);

/* connection_send.c. Writes one copy of an EXCHANGED for `readers` ranks of this host, and the
 * payload of the EXCHANGED_COPY for each. False: each has to get the bytes. */
enum { COPY_NUMBER = 4 };
bool connection_share(struct server *s, int readers, const void *payload, size_t size,
                      uint8_t number[COPY_NUMBER]);
/* NULL and closed connections are ignored. Sending never fails: the loss of a
 * connection is reported by on_closed. */
void connection_send(struct connection *c, uint8_t type, const void *payload, size_t size);
void connection_send_json(struct connection *c, uint8_t type, json_t *message); /* takes it over */
/* A frame for several ranks: connection_cast_add for each, then connection_cast_send for each.
 * Those of one host whose agent relays get it in one message. */
void connection_cast_add(struct connection *to);
void connection_cast_send(struct connection *to, uint8_t type, const void *payload, size_t size);
size_t connection_cast_most(const struct server *s); /* bytes of the longest payload */
/* For a frame that finds no memory: the loop will see the connection's end, as does the peer, which
 * would wait for the frame otherwise. */
void connection_give_up(struct connection *c);

/* receive.c and the handlers of the frames that ranks and agents send. A handler returns a negative
 * code and fills `why` if the frame is malformed; the connection is then dropped. `seat` is the
 * sender's in the group `p`; `message` is the frame's JSON. */
int receive_frame(struct connection *c, const struct frame *f, struct fault *why);
int join_receive(struct connection *c, json_t *message, struct fault *why);
bool server_exchange_group(const struct frame *f, json_int_t *id); /* false: malformed */
int server_exchange_receive(struct server_group *p, struct server_seat *seat, const struct frame *f,
                            struct fault *why);
int server_split_receive(struct server_group *p, struct server_seat *seat, json_t *message,
                         struct fault *why);
int server_group_receive_break(struct server_group *p, struct server_seat *seat, json_t *message,
                               struct fault *why);
int server_group_receive_free(struct server_group *p, struct server_seat *seat, json_t *message,
                              struct fault *why);
int server_group_receive_relay(struct server_group *p, struct server_seat *seat, json_t *message,
                               struct fault *why);
int stall_receive_waiting(struct server_group *p, struct server_seat *seat, json_t *message,
                          struct fault *why);
int stall_receive_moving(struct server_group *p, struct server_seat *seat, json_t *message,
                         struct fault *why);
void liveness_receive_leave(struct generation_rank *one);
int liveness_receive_unreached(struct connection *c, json_t *message, struct fault *why);
int liveness_receive_alone(struct connection *c, json_t *message, struct fault *why);
int liveness_receive_abort(struct connection *c, json_t *message, struct fault *why);
int liveness_receive_exited(struct connection *c, json_t *message, struct fault *why);

/* relayed.c */
int relayed_receive_opened(struct connection *agent, const struct frame *f, struct fault *why);
int relayed_receive_sent(struct connection *agent, const struct frame *f, struct fault *why);
int relayed_receive_closed(struct connection *agent, const struct frame *f, struct fault *why);
void relayed_drop_all(struct connection *agent);

/* server.c: a server that does not listen yet. ML_ERR_ARGUMENT, ML_ERR_MEMORY. */
struct server_config;
int server_create(struct server **out, struct event_base *base, const struct server_config *config,
                  const struct server_events *events, struct fault *why);
/* Accepts connections on `listener`, which it takes over, also in error. ML_ERR_MEMORY. */
int server_listen(struct server *s, int listener, struct fault *why);

/* liveness.c */
/* Fails the generation because `rank` has ended without joining it. */
void liveness_fail_join(struct generation *g, int rank);
void liveness_on_closed(struct connection *c, enum connection_state was);
void liveness_send_left(struct connection *c); /* the answer to LEAVE or ABORT */

/* agent_exchange.c */
int agent_exchange_receive(struct connection *c, const struct frame *f, struct fault *why);
int agent_exchange_receive_pass(struct connection *c, const struct frame *f, struct fault *why);
int agent_exchange_receive_name(struct connection *c, json_t *message, struct fault *why);
void agent_exchange_on_agent(struct connection *c);
void agent_exchange_on_exited(struct server *s); /* a rank has ended */
void agent_exchange_clear(struct server *s);

/* membership.c */
int membership_receive_repair(struct connection *c, json_t *message, struct fault *why);
void membership_look(struct generation *g); /* a rank has died or left */
/* A rank or a newcomer has died: it may get a successor, which is waited for anew. */
void membership_lose(struct generation *g);
/* A process that takes a dead rank's place has joined. May free generations. */
void membership_receive_newcomer(struct connection *c, int64_t pid, int replaces);
int membership_receive_agree(struct server_group *p, struct server_seat *seat, json_t *message,
                             struct fault *why);

/* generation.c */
struct generation *generation_find(struct server *s, uint32_t number);
struct generation *generation_create(struct server *s, uint32_t number); /* NULL: out of memory */
void generation_fail(struct generation *g, int code, const char *text);
void generation_refuse(struct connection *c, int code, const char *text); /* FAILED, to one */
json_t *generation_welcome(const struct server *s); /* WELCOME; NULL: out of memory */
/* To all ranks but `except` and those that have left. Takes over `message`; NULL: out of memory. */
void generation_send(struct generation *g, uint8_t type, json_t *message, int except);
struct next_world_rank generation_facts(const struct generation_rank *one);
/* ml_repair: the rank may still come; it has come; it may and has not. */
bool generation_is_alive(const struct generation_rank *one);
bool generation_is_ready(const struct generation_rank *one);
bool generation_awaits(const struct generation_rank *one);
void generation_release(struct generation *g); /* frees it if no rank is left in it */
void generation_destroy(struct generation *g);

/* server_split.c */
int creation_receive(struct generation_rank *one, json_t *message, struct fault *why);

/* server_group.c */
struct server_group *server_group_create(struct generation *g, const int *ranks,
                                         int count);                     /* NULL: no memory */
struct server_seat *server_group_seat(struct server_group *p, int rank); /* NULL: not a member */
/* The group with that id and the rank's seat in it; NULL: no such group, or it is not in it. */
struct server_group *server_group_of_rank(struct generation_rank *one, json_int_t id,
                                          struct server_seat **seat);
void server_group_break(struct server_group *p, int code, const char *text);
void server_group_on_lost(struct generation *g, int rank,
                          const char *text); /* all groups it is in */
/* Sends BROKEN to that member, and returns true, if nothing can complete in the group any more. */
bool server_group_answers_broken(struct server_group *p, const struct server_seat *seat);
void server_group_destroy(struct server_group *p);
/* The same file: ml_group_create, until all members have come. creation_place: where the rank is
 * among them, or -1. creation_refuse answers one that has come, creation_fail all of them, whose
 * creation is gone then. creation_end_all: the same for all; code 0: nobody is told. */
int creation_place(const struct server_creation *c, int rank);
void creation_refuse(const struct generation_rank *one, json_int_t parent, int code,
                     const char *text);
void creation_fail(struct server_creation *c, int code, const char *text);
void creation_free(struct server_creation *c);
void creation_end_all(struct generation *g, int code, const char *text);
const char *server_group_name(const struct server_group *p,
                              char out[32]); /* "the world group", "group 3", "window 4" */
/* Forget what the members have sent for the pending exchange or split. */
void server_group_clear_exchange(struct server_group *p);
void server_group_clear_split(struct server_group *p);
void server_group_clear_wait(struct server_wait *w);

/* meeting.c */
/* Sets the server's one limit for those that keep others waiting, unless it ends earlier. */
void meeting_set_timer(struct server *s, int64_t due_ms);
void meeting_begin(struct server *s, struct server_meeting *m); /* unless it has begun */
/* Reports the ranks that wait for others in ml_init or in making a group: once, when it is time;
 * or now, and again. */
void meeting_check(struct generation *g, int64_t now);
void meeting_tell(struct generation *g, int64_t now);

/* stall.c */
void stall_on_timeout(evutil_socket_t fd, short what, void *arg);

#endif

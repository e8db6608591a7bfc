/* SPDX-License-Identifier: MIT */
/*
 * fixture.h: a coordinator for a test: the server runs on a loop in its own thread, the ranks'
 * clients and raw sockets in the test's thread. The server's reports come over a socket as lines;
 * what its agent would tell it goes the other way. A failed expectation fails the test.
 */
#ifndef TESTS_UNIT_COORDINATOR_FIXTURE_H
#define TESTS_UNIT_COORDINATOR_FIXTURE_H

#include "common/net/address.h"
#include "common/net/auth.h"
#include "common/net/frame.h"
#include "coordinator/client.h"
#include "coordinator/service/server.h"

#include <jansson.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

enum { PATIENCE_MS = 20000, RANKS_MAX = 64, HOST_PID = 1000, FIXTURE_HOSTS = 4 };

extern const uint8_t fixture_secret[AUTH_SECRET];
extern const char *const fixture_names[FIXTURE_HOSTS]; /* "a" to "d" */

struct agent_client;
struct host_relay;
struct event;
struct event_base;

/* What a host's agent has: its connection to the coordinator, and the relay for its ranks. */
struct fixture_agent {
    struct agent_client *client;
    struct host_relay *relay;
    char directory[64]; /* where its ranks connect */
    atomic_int casts;   /* frames that came for ranks, and their bytes */
    atomic_long cast_bytes;
};

/* For the tests of the relay: how many hosts there are, how many bytes a rank may leave unread (0:
 * many), to which rank the test's process seems to belong (-1: that is unknown), and whether agents
 * connect to where nobody answers. */
extern struct fixture_choice {
    int hosts;
    size_t unread_most;
    atomic_int process_rank;
    bool is_mute;
    int leavers_ms;            /* the server gathers ranks that leave */
    const char *directory;     /* the server's */
    bool takes_over, replaces; /* these three: as server_config has them */
    int replace_ms;
} fixture_choice;

struct fixture {
    struct event_base *base;
    struct server *server;
    struct fixture_agent agents[FIXTURE_HOSTS];
    int linked; /* the host of "link" */
    pthread_t thread;
    int control[2]; /* [0] the test's end, [1] the loop's */
    struct event *on_control;
    char address[ADDRESS_TEXT];
    char mute[ADDRESS_TEXT]; /* where nobody answers */
    int mute_listener;
    int size;
    int host_of[RANKS_MAX];
    struct client *ranks[RANKS_MAX];
    int split_group; /* from the last split() */
};

/* A test that runs twice: with ranks that connect to the coordinator, and with ranks of which those
 * of all hosts but the first connect to their host's agent. */
#define TEST_BOTH(test)                                                                            \
    {#test, test, NULL, NULL, NULL},                                                               \
    {                                                                                              \
#test ", relayed", test, fixture_relay, fixture_relay_no_more, NULL                        \
    }
int fixture_relay(void **state);
int fixture_relay_no_more(void **state);

/* Starts a server for `size` ranks, rank r on host r modulo FIXTURE_HOSTS. fixture_start_joined:
 * and connects all ranks, whose pids are HOST_PID + rank, in generation 1. */
struct fixture *fixture_start(int size, int stall_ms);
struct fixture *fixture_start_joined(int size, int stall_ms);
void fixture_stop(struct fixture *f);

/* Makes the server's thread act: "exited RANK PID TEXT": its own agent reports the end of a rank;
 * "link HOST": the agent of another host connects; "tell RANK PID TEXT": that agent reports the end
 * of a rank; "unlink": it closes its connection; "gone HOST": mlaunch has lost that host; "rename
 * HOST 0 NAME": another host is there now; "grow HOST": the job has another rank, on that one;
 * "vacant RANK": nobody takes that rank's place; "leaves RANK": it is taken out of the job;
 * "pause": the ranks are stopped, which is reported; "resume". */
void fixture_tell(struct fixture *f, const char *format, ...) __attribute__((format(printf, 2, 3)));

struct client *fixture_open_rank(struct fixture *f, int rank, uint32_t generation);
void fixture_join(struct fixture *f, int rank, int timeout_ms);
void fixture_close_rank(struct fixture *f, int rank);

/* The server's next report ("abort …", "stall …", "refused …", "lost …", "repaired …") contains
 * `expected`. */
void expect_report(struct fixture *f, const char *expected);
void expect_no_report(struct fixture *f);

void send_text(struct client *c, uint8_t type, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Sends an EXCHANGE of `count` blobs: blob i is text[i]. */
void send_blobs(struct client *c, uint32_t group, uint32_t seq, int count, const char *const *text);

void next_frame(struct client *c, struct frame *out); /* waits for it; valid until the next call */
/* The next frame has that type; its JSON, to be released by the caller. */
json_t *expect_frame(struct client *c, uint8_t type);
/* … and its "text" contains `text`, its "rank" or "code" is `number`. */
void expect_text(struct client *c, uint8_t type, const char *key, int number, const char *text);
void expect_left(struct client *c, int rank); /* a LEFT of that rank alone */
/* An EXCHANGED whose blobs, each followed by a comma, are `expected`. */
void expect_blobs(struct client *c, uint32_t seq, int count, const char *expected);
/* The coordinator closes the connection. */
void expect_closed(struct client *c);

#endif

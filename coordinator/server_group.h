/* SPDX-License-Identifier: MIT */
/*
 * server_group.h: the groups of a generation, which are the world, those made by ml_split or
 * ml_group_create, and windows. All functions are called on the loop's thread.
 */
#ifndef COORDINATOR_SERVER_GROUP_H
#define COORDINATOR_SERVER_GROUP_H

#include "common/fault.h"
#include "coordinator/generation_state.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* The call that a rank waits in, as it has reported it. */
struct server_wait {
    bool is_waiting, is_reported;
    uint32_t seq; /* 0: point-to-point */
    int64_t since_ms;
    char *call, *signature;
    char *untyped; /* the signature without its type, which others may leave out; NULL: no type */
    char *place;   /* in the program, or "" */
    int *peers;    /* world ranks */
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

/* A group of these world ranks, which are copied, with the generation's next number. NULL: out of
 * memory. */
struct server_group *server_group_create(struct generation *g, const int *ranks, int count);
void server_group_destroy(struct server_group *p); /* tells nobody */

struct server_seat *server_group_seat(struct server_group *p, int rank); /* NULL: not a member */
/* The group with that id and the rank's seat in it; NULL: no such group, or it is not in it. */
struct server_group *server_group_of_rank(struct generation_rank *one, json_int_t id,
                                          struct server_seat **seat);
/* "the world group", "group 3", "window 4": returns the first, or what it writes. */
const char *server_group_name(const struct server_group *p, char out[32]);

/* Nothing can complete in the group any more, which all members are told. */
void server_group_break(struct server_group *p, int code, const char *text);
/* That rank has died or left: no exchange and no creation can complete that it is in. */
void server_group_on_lost(struct generation *g, int rank, const char *text);
/* Sends BROKEN to that member, and returns true, if nothing can complete in the group any more. */
bool server_group_answers_broken(struct server_group *p, const struct server_seat *seat);

/* Forget what the members have sent for the pending exchange or split. */
void server_group_clear_exchange(struct server_group *p);
void server_group_clear_split(struct server_group *p);
void server_group_clear_wait(struct server_wait *w);

/* BREAK, FREE and RELAY, as service/receive.h says. FREE may destroy the group. */
int server_group_receive_break(struct server_group *p, struct server_seat *seat, json_t *message,
                               struct fault *why);
int server_group_receive_free(struct server_group *p, struct server_seat *seat, json_t *message,
                              struct fault *why);
int server_group_receive_relay(struct server_group *p, struct server_seat *seat, json_t *message,
                               struct fault *why);

#endif

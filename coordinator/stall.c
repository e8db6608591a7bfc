/* SPDX-License-Identifier: MIT */
/*
 * stall.c: calls that wait. Ranks report theirs after a second; members of one group that wait in
 * different calls under the same number will never meet, and whoever keeps the others waiting for
 * long is reported by name, once.
 */
#include "coordinator/server_state.h"

#include "common/clock.h"
#include "coordinator/protocol.h"

#include <stdlib.h>
#include <string.h>

enum { TEXT = 1024, NAME = 128 };

/* Sets the one timer to `due_ms` unless it goes off before. */
static void arm(struct server *s, int64_t due_ms)
{
    int left = clock_left_ms(due_ms);
    struct timeval time = {.tv_sec = left / 1000, .tv_usec = left % 1000 * 1000};

    if (s->stall_ms <= 0 || (s->stall_due_ms != 0 && s->stall_due_ms <= due_ms))
        return;
    s->stall_due_ms = due_ms;
    event_add(s->stall_timer, &time);
}

/* Two members that wait in one collective, the same number, with different words. */
static void break_mismatch(struct group *p, const struct seat *a, const struct seat *b)
{
    const struct server *s = p->generation->server;
    char text[TEXT] = "", name[32];

    sentence_add_rank(s, text, sizeof(text), a->rank);
    sentence_add(text, sizeof(text), " is in %.100s, ", a->wait.signature);
    sentence_add_rank(s, text, sizeof(text), b->rank);
    sentence_add(text, sizeof(text), " in %.100s (call %u of %s)", b->wait.signature, a->wait.seq,
                 group_name(p, name));
    group_break(p, ML_ERR_MISMATCH, text);
}

static void check_mismatch(struct group *p, const struct seat *mine)
{
    for (int i = 0; i < p->count; i++) {
        const struct seat *other = &p->seats[i];

        if (!other->wait.is_waiting || other->wait.seq != mine->wait.seq ||
            strcmp(other->wait.signature, mine->wait.signature) == 0)
            continue;
        break_mismatch(p, other < mine ? other : mine, other < mine ? mine : other);
        return;
    }
}

static bool take_peers(struct group *p, const json_t *peers, struct wait *w)
{
    size_t count = json_array_size(peers);

    if (count > (size_t)p->count)
        return false;
    w->peers = calloc(count + 1, sizeof(*w->peers));
    for (size_t i = 0; i < count && w->peers; i++) {
        const json_t *peer = json_array_get(peers, i);
        json_int_t rank = json_integer_value(peer);

        if (!json_is_integer(peer) || rank < 0 || rank >= p->generation->server->size ||
            !group_seat(p, (int)rank))
            return false;
        w->peers[w->peer_count++] = (int)rank;
    }
    return w->peers;
}

int stall_receive_waiting(struct member *m, json_t *message, struct fault *why)
{
    const char *call, *signature;
    struct seat *seat;
    struct group *p;
    json_int_t id, seq;
    json_t *peers;

    if (json_unpack(message, "{s:I, s:I, s:s, s:s, s:o}", "group", &id, "seq", &seq, "call", &call,
                    "signature", &signature, "peers", &peers) ||
        seq < 0 || seq > UINT32_MAX || !json_is_array(peers))
        return fault_set(why, ML_ERR_REFUSED, "its WAITING is malformed");
    p = group_of_member(m, id, &seat);
    if (!p)
        return fault_set(why, ML_ERR_REFUSED, "it waits in a group that it isn't in");
    if (p->broken.code)
        return 0; /* it has been told */
    wait_clear(&seat->wait);
    seat->wait.call = strdup(call);
    seat->wait.signature = strdup(signature);
    if (!seat->wait.call || !seat->wait.signature || !take_peers(p, peers, &seat->wait)) {
        wait_clear(&seat->wait);
        return fault_set(why, ML_ERR_REFUSED, "its WAITING names ranks that are not in the group");
    }
    seat->wait.is_waiting = true;
    seat->wait.seq = (uint32_t)seq;
    seat->wait.since_ms = clock_ms() - WAITING_AFTER_MS;
    if (seq > 0)
        check_mismatch(p, seat);
    if (seat->wait.is_waiting)
        arm(p->generation->server, seat->wait.since_ms + p->generation->server->stall_ms);
    return 0;
}

int stall_receive_moving(struct member *m, json_t *message, struct fault *why)
{
    struct seat *seat;
    struct group *p;
    json_int_t id;

    if (json_unpack(message, "{s:I}", "group", &id))
        return fault_set(why, ML_ERR_REFUSED, "its MOVING is malformed");
    p = group_of_member(m, id, &seat);
    if (!p)
        return fault_set(why, ML_ERR_REFUSED, "it moves in a group that it isn't in");
    wait_clear(&seat->wait);
    return 0;
}

/* Whether `seat` waits in the call that `w` tells of. A point-to-point call is its rank's own. */
static bool is_same_call(const struct seat *seat, const struct wait *w)
{
    if (w->seq == 0)
        return &seat->wait == w;
    return seat->wait.is_waiting && seat->wait.seq == w->seq;
}

static bool is_peer_of(const struct wait *w, int rank)
{
    for (int i = 0; i < w->peer_count; i++) {
        if (w->peers[i] == rank)
            return true;
    }
    return false;
}

/* Whether somebody who waits in the call of `w` waits for `rank`; or, where none says for whom, for
 * all. */
static bool is_waited_for(const struct group *p, const struct wait *w, int rank)
{
    bool is_anybody_named = false;

    for (int i = 0; i < p->count; i++) {
        if (!is_same_call(&p->seats[i], w))
            continue;
        is_anybody_named |= p->seats[i].wait.peer_count > 0;
        if (is_peer_of(&p->seats[i].wait, rank))
            return true;
    }
    return !is_anybody_named;
}

/* What somebody who is waited for waits for himself, in whatever group. */
static void add_own_wait(const struct generation *g, char *text, int rank)
{
    for (struct group *p = g->groups; p; p = p->next) {
        const struct seat *seat = group_seat(p, rank);

        if (!seat || !seat->wait.is_waiting)
            continue;
        sentence_add(text, TEXT, "; it waits itself in %.64s", seat->wait.call);
        if (seat->wait.peer_count > 0) {
            sentence_add(text, TEXT, " for ");
            sentence_add_ranks(text, TEXT, seat->wait.peers, seat->wait.peer_count);
        }
        return;
    }
}

/* "rank 3 on host c has not come to all_reduce (call 17 of the world group); ranks 0, 1, 2 have
 * waited 30 s for it" */
static void describe_collective(const struct group *p, const struct wait *w, const int *missing,
                                int missing_count, const int *waiting, int waiting_count,
                                long seconds, char *text)
{
    const struct server *s = p->generation->server;
    char name[32];

    if (missing_count > 0) {
        sentence_add_hosts(s, text, TEXT, missing, missing_count);
        sentence_add(text, TEXT, " %s not come to %.64s (call %u of %s); ",
                     missing_count == 1 ? "has" : "have", w->call, w->seq, group_name(p, name));
    }
    sentence_add_ranks(text, TEXT, waiting, waiting_count);
    sentence_add(text, TEXT, " %s waited %ld s for ", waiting_count == 1 ? "has" : "have", seconds);
    if (missing_count > 0)
        sentence_add(text, TEXT, missing_count == 1 ? "it" : "them");
    else
        sentence_add(text, TEXT, "each other in %.64s (call %u of %s)", w->call, w->seq,
                     group_name(p, name));
    if (missing_count == 1)
        add_own_wait(p->generation, text, missing[0]);
}

/* "rank 0 on host a has waited 30 s in recv for rank 3 on host c (the world group)" */
static void describe_pair(const struct group *p, const struct seat *seat, long seconds, char *text)
{
    const struct server *s = p->generation->server;
    char name[32];

    sentence_add_rank(s, text, TEXT, seat->rank);
    sentence_add(text, TEXT, " has waited %ld s in %.64s", seconds, seat->wait.call);
    if (seat->wait.peer_count > 0) {
        sentence_add(text, TEXT, " for ");
        sentence_add_hosts(s, text, TEXT, seat->wait.peers, seat->wait.peer_count);
    }
    sentence_add(text, TEXT, " (%s)", group_name(p, name));
    if (seat->wait.peer_count == 1)
        add_own_wait(p->generation, text, seat->wait.peers[0]);
}

/* Reports the call that `seat` waits in, and marks all who wait in it. */
static void report(struct group *p, struct seat *seat, int64_t now)
{
    const struct generation *g = p->generation;
    struct server *s = g->server;
    int *missing = calloc((size_t)p->count, sizeof(*missing));
    int *waiting = calloc((size_t)p->count, sizeof(*waiting));
    int missing_count = 0, waiting_count = 0;
    int64_t since = seat->wait.since_ms;
    char text[TEXT] = "";

    for (int i = 0; i < p->count && missing && waiting; i++) {
        struct seat *other = &p->seats[i];

        if (is_same_call(other, &seat->wait)) {
            waiting[waiting_count++] = other->rank;
            if (other->wait.since_ms < since)
                since = other->wait.since_ms;
        } else if (g->members[other->rank].state == MEMBER_JOINED &&
                   is_waited_for(p, &seat->wait, other->rank)) {
            missing[missing_count++] = other->rank;
        }
    }
    if (seat->wait.seq == 0)
        describe_pair(p, seat, (now - since) / 1000, text);
    else if (missing && waiting)
        describe_collective(p, &seat->wait, missing, missing_count, waiting, waiting_count,
                            (long)((now - since) / 1000), text);
    for (int i = 0; i < p->count; i++) {
        if (is_same_call(&p->seats[i], &seat->wait))
            p->seats[i].wait.is_reported = true;
    }
    free(missing);
    free(waiting);
    if (s->events.on_stall)
        s->events.on_stall(text, s->events.arg);
}

/* Whether somebody in the same call has been reported already: one stall, one line. */
static bool is_reported(const struct group *p, const struct wait *w)
{
    for (int i = 0; i < p->count; i++) {
        if (is_same_call(&p->seats[i], w) && p->seats[i].wait.is_reported)
            return true;
    }
    return false;
}

static void check_group(struct group *p, int64_t now)
{
    struct server *s = p->generation->server;

    for (int i = 0; i < p->count; i++) {
        struct seat *seat = &p->seats[i];

        if (!seat->wait.is_waiting || is_reported(p, &seat->wait))
            continue;
        if (seat->wait.since_ms + s->stall_ms <= now)
            report(p, seat, now);
        else
            arm(s, seat->wait.since_ms + s->stall_ms);
    }
}

void stall_on_timer(evutil_socket_t fd, short what, void *arg)
{
    struct server *s = arg;
    int64_t now = clock_ms();

    (void)fd, (void)what;
    s->stall_due_ms = 0;
    for (struct generation *g = s->generations; g; g = g->next) {
        for (struct group *p = g->groups; p; p = p->next)
            check_group(p, now);
    }
}

/* SPDX-License-Identifier: MIT */
/*
 * stall.c: calls that wait. A rank reports a call that has waited for a moment. Members of a group
 * that wait in different calls with the same number can never meet, which breaks the group. A rank
 * that keeps others waiting for long is reported by name, once.
 */
#include "coordinator/service/stall.h"

#include "common/failure_times.h"
#include "common/net/wait_graph.h"
#include "coordinator/sentence.h"
#include "coordinator/server_state.h"
#include "coordinator/service/meeting.h"

#include <stdlib.h>
#include <string.h>

enum { TEXT = 1024, NAME = 128 };

/* Breaks the group: two members wait in collective calls with one number but different
 * signatures. */
static void mismatch_break(struct server_group *p, const struct server_seat *a,
                           const struct server_seat *b)
{
    const struct server *s = p->generation->server;
    char text[TEXT] = "", name[32];

    sentence_add_rank(s, text, sizeof(text), a->rank);
    sentence_add(text, sizeof(text), " is in %.100s, ", a->wait.signature);
    sentence_add_rank(s, text, sizeof(text), b->rank);
    sentence_add(text, sizeof(text), " in %.100s (call %u of %s)", b->wait.signature, a->wait.seq,
                 server_group_name(p, name));
    server_group_break(p, ML_ERR_MISMATCH, text);
}

/* Whoever says no type of what is moved can meet each type, as in the messages themselves. */
static bool can_meet(const struct server_wait *a, const struct server_wait *b)
{
    if (a->untyped && b->untyped)
        return strcmp(a->signature, b->signature) == 0;
    return strcmp(a->untyped ? a->untyped : a->signature, b->untyped ? b->untyped : b->signature) ==
           0;
}

static void mismatch_check(struct server_group *p, const struct server_seat *mine)
{
    for (int i = 0; i < p->count; i++) {
        const struct server_seat *other = &p->seats[i];

        if (!other->wait.is_waiting || other->wait.seq != mine->wait.seq ||
            can_meet(&other->wait, &mine->wait))
            continue;
        mismatch_break(p, other < mine ? other : mine, other < mine ? mine : other);
        return;
    }
}

static bool wait_take_peers(struct server_group *p, const json_t *peers, struct server_wait *w)
{
    size_t count = json_array_size(peers);

    if (count > (size_t)p->count)
        return false;
    w->peers = calloc(count + 1, sizeof(*w->peers));
    for (size_t i = 0; i < count && w->peers; i++) {
        const json_t *peer = json_array_get(peers, i);
        json_int_t rank = json_integer_value(peer);

        if (!json_is_integer(peer) || rank < 0 || rank >= p->generation->server->size ||
            !server_group_seat(p, (int)rank))
            return false;
        w->peers[w->peer_count++] = (int)rank;
    }
    return w->peers;
}

int stall_receive_waiting(struct server_group *p, struct server_seat *seat, json_t *message,
                          struct fault *why)
{
    struct server *s = p->generation->server;
    const char *call, *signature, *untyped = NULL, *place = "";
    int is_window = 0;
    json_int_t seq;
    json_t *peers;

    if (json_unpack(message, "{s:I, s:s, s:s, s?s, s?s, s:o, s?b}", "seq", &seq, "call", &call,
                    "signature", &signature, "untyped", &untyped, "place", &place, "peers", &peers,
                    "window", &is_window) ||
        seq < 0 || seq > UINT32_MAX || !json_is_array(peers))
        return fault_set(why, ML_ERR_REFUSED, "its WAITING is malformed");
    if (p->broken.code)
        return 0; /* the rank has been told */
    server_group_clear_wait(&seat->wait);
    seat->wait.call = strdup(call);
    seat->wait.signature = strdup(signature);
    seat->wait.untyped = untyped ? strdup(untyped) : NULL;
    seat->wait.place = strdup(place);
    if (!seat->wait.call || !seat->wait.signature || !seat->wait.place ||
        (untyped && !seat->wait.untyped) || !wait_take_peers(p, peers, &seat->wait)) {
        server_group_clear_wait(&seat->wait);
        return fault_set(why, ML_ERR_REFUSED, "its WAITING names ranks that are not in the group");
    }
    p->is_window |= is_window;
    seat->wait.is_waiting = true;
    seat->wait.seq = (uint32_t)seq;
    seat->wait.since_ms = limits_now_ms(&s->limits) - WAITING_AFTER_MS;
    if (seq > 0)
        mismatch_check(p, seat);
    if (seat->wait.is_waiting)
        meeting_set_timer(s, seat->wait.since_ms + s->stalls.after_ms);
    return 0;
}

int stall_receive_moving(struct server_group *p, struct server_seat *seat, json_t *message,
                         struct fault *why)
{
    (void)p, (void)message, (void)why;
    server_group_clear_wait(&seat->wait);
    return 0;
}

/* True if `seat` waits in the call that `w` describes. A point-to-point call is its rank's
 * alone. */
static bool is_same_call(const struct server_seat *seat, const struct server_wait *w)
{
    if (w->seq == 0)
        return &seat->wait == w;
    return seat->wait.is_waiting && seat->wait.seq == w->seq;
}

/* "all_reduce", "all_reduce at train.py:17" */
static void call_add(char *text, const struct server_wait *w)
{
    sentence_add(text, TEXT, "%.64s%s%.127s", w->call, w->place[0] ? " at " : "", w->place);
}

/* Appends what `rank`, which others wait for, waits for itself, in any group. */
static void own_wait_add(const struct generation *g, char *text, int rank)
{
    for (struct server_group *p = g->groups; p; p = p->next) {
        const struct server_seat *seat = server_group_seat(p, rank);

        if (!seat || !seat->wait.is_waiting)
            continue;
        sentence_add(text, TEXT, "; it is itself waiting in ");
        call_add(text, &seat->wait);
        if (seat->wait.peer_count > 0) {
            sentence_add(text, TEXT, " for ");
            sentence_add_ranks(text, TEXT, seat->wait.peers, (size_t)seat->wait.peer_count);
        }
        return;
    }
}

/* "rank 3 on host c has not come to all_reduce (call 17 of the world group); ranks 0-2 have waited
 * 30 s for it" */
static void collective_describe(const struct server_group *p, const struct server_wait *w,
                                const struct wait_call *call, long seconds, char *text)
{
    const struct server *s = p->generation->server;
    int missing = (int)call->absent_count;
    char name[32];

    if (missing > 0) {
        sentence_add_hosts(s, text, TEXT, call->absent, missing);
        sentence_add(text, TEXT, " %s not come to ", missing == 1 ? "has" : "have");
        call_add(text, w);
        sentence_add(text, TEXT, " (call %u of %s); ", w->seq, server_group_name(p, name));
    }
    sentence_add_ranks(text, TEXT, call->present, call->present_count);
    sentence_add(text, TEXT, " %s waited %ld s for ", call->present_count == 1 ? "has" : "have",
                 seconds);
    if (missing > 0) {
        sentence_add(text, TEXT, missing == 1 ? "it" : "them");
    } else {
        sentence_add(text, TEXT, "each other in ");
        call_add(text, w);
        sentence_add(text, TEXT, " (call %u of %s)", w->seq, server_group_name(p, name));
    }
    if (missing == 1)
        own_wait_add(p->generation, text, call->absent[0]);
}

/* "rank 0 on host a has waited 30 s in recv for rank 3 on host c (the world group)" */
static void pair_describe(const struct server_group *p, const struct server_seat *seat,
                          long seconds, char *text)
{
    const struct server *s = p->generation->server;
    char name[32];

    sentence_add_rank(s, text, TEXT, seat->rank);
    sentence_add(text, TEXT, " has waited %ld s in ", seconds);
    call_add(text, &seat->wait);
    if (seat->wait.peer_count > 0) {
        sentence_add(text, TEXT, " for ");
        sentence_add_hosts(s, text, TEXT, seat->wait.peers, seat->wait.peer_count);
    }
    sentence_add(text, TEXT, " (%s)", server_group_name(p, name));
    if (seat->wait.peer_count == 1)
        own_wait_add(p->generation, text, seat->wait.peers[0]);
}

/* Stores the ranks in the call that `seat` waits in, and those that they wait for and that have not
 * left. */
static int call_find(struct wait_call *out, const struct server_group *p,
                     const struct server_seat *seat)
{
    const struct generation_rank *ranks = p->generation->ranks;
    struct wait *waits = calloc((size_t)p->count, sizeof(*waits));
    int *all = calloc((size_t)p->count, sizeof(*all)), rc = ML_ERR_MEMORY;
    size_t count = 0, which = 0, kept = 0;

    for (int i = 0; i < p->count && waits && all; i++) {
        const struct server_wait *w = &p->seats[i].wait;

        all[i] = p->seats[i].rank;
        if (&p->seats[i] == seat)
            which = count;
        if (w->is_waiting)
            waits[count++] = (struct wait){all[i], 0, w->seq, w->peers, (size_t)w->peer_count, 0};
    }
    if (waits && all)
        rc = wait_graph_call(out, waits, count, which, all, (size_t)p->count);
    for (size_t i = 0; i < out->absent_count; i++) {
        if (ranks[out->absent[i]].state == RANK_JOINED)
            out->absent[kept++] = out->absent[i];
    }
    out->absent_count = kept;
    free(waits);
    free(all);
    return rc;
}

/* Reports the call that `seat` waits in, and marks all members that wait in it. */
static void stall_report(struct server_group *p, struct server_seat *seat, int64_t now)
{
    struct server *s = p->generation->server;
    struct wait_call call = {0};
    int64_t since = seat->wait.since_ms;
    char text[TEXT] = "";

    for (int i = 0; i < p->count; i++) {
        struct server_wait *other = &p->seats[i].wait;

        if (!is_same_call(&p->seats[i], &seat->wait))
            continue;
        other->is_reported = true;
        if (other->since_ms < since)
            since = other->since_ms;
    }
    if (seat->wait.seq == 0)
        pair_describe(p, seat, (now - since) / 1000, text);
    else if (!call_find(&call, p, seat))
        collective_describe(p, &seat->wait, &call, (long)((now - since) / 1000), text);
    free(call.present);
    if (s->events.on_stall)
        s->events.on_stall(text, s->events.arg);
}

/* True if a member in the same call was reported already: each stall is reported once. */
static bool is_reported(const struct server_group *p, const struct server_wait *w)
{
    for (int i = 0; i < p->count; i++) {
        if (is_same_call(&p->seats[i], w) && p->seats[i].wait.is_reported)
            return true;
    }
    return false;
}

static void stall_check_group(struct server_group *p, int64_t now)
{
    struct server *s = p->generation->server;

    for (int i = 0; i < p->count; i++) {
        struct server_seat *seat = &p->seats[i];

        if (!seat->wait.is_waiting || is_reported(p, &seat->wait))
            continue;
        if (seat->wait.since_ms + s->stalls.after_ms <= now)
            stall_report(p, seat, now);
        else
            meeting_set_timer(s, seat->wait.since_ms + s->stalls.after_ms);
    }
}

static void waits_tell(struct server_group *p, int64_t now)
{
    for (int i = 0; i < p->count; i++)
        p->seats[i].wait.is_reported = false;
    for (int i = 0; i < p->count; i++) {
        struct server_seat *seat = &p->seats[i];

        if (seat->wait.is_waiting && !is_reported(p, &seat->wait))
            stall_report(p, seat, now);
    }
}

void stall_tell(struct server *s)
{
    int64_t now = limits_now_ms(&s->limits);

    for (struct generation *g = s->generations; g; g = g->next) {
        meeting_tell(g, now);
        for (struct server_group *p = g->groups; p; p = p->next)
            waits_tell(p, now);
    }
}

void stall_on_timeout(evutil_socket_t fd, short what, void *arg)
{
    struct server *s = arg;
    int64_t now = limits_now_ms(&s->limits);

    (void)fd, (void)what;
    s->stalls.due_ms = 0;
    for (struct generation *g = s->generations; g; g = g->next) {
        meeting_check(g, now);
        for (struct server_group *p = g->groups; p; p = p->next)
            stall_check_group(p, now);
    }
}

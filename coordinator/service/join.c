/* SPDX-License-Identifier: MIT */
/* join.c: handles JOIN, which is answered by WELCOME or FAILED. */
#include "coordinator/service/join.h"

#include "coordinator/generation.h"
#include "coordinator/protocol.h"
#include "coordinator/sentence.h"
#include "coordinator/server_group.h"
#include "coordinator/service/liveness.h"
#include "coordinator/service/meeting.h"
#include "coordinator/service/membership.h"

#include <limits.h>
#include <stdlib.h>

/* All ranks have joined. The world is the generation's first group. */
static void join_complete(struct generation *g)
{
    int *ranks = calloc((size_t)g->server->size, sizeof(*ranks));

    for (int i = 0; ranks && i < g->server->size; i++)
        ranks[i] = i;
    if (!ranks || !server_group_create(g, ranks, g->server->size)) {
        generation_fail(g, ML_ERR_MEMORY, "the coordinator is out of memory");
    } else {
        g->is_complete = g->server->has_met = true;
        limit_clear(&g->limit);
        generation_send(g, COORD_WELCOME, generation_welcome(g->server), -1);
    }
    free(ranks);
    if (g->is_complete && g->server->events.on_met)
        g->server->events.on_met(g->server->events.arg);
}

static void join_on_timeout(evutil_socket_t fd, short what, void *arg)
{
    struct generation *g = arg;
    struct server *s = g->server;
    int *missing = calloc((size_t)s->size, sizeof(*missing)), count = 0;
    char text[sizeof(g->failed.text)] = "";

    (void)fd, (void)what;
    for (int i = 0; missing && i < s->size; i++) {
        if (g->ranks[i].state == RANK_ABSENT)
            missing[count++] = i;
    }
    sentence_add_hosts(s, text, sizeof(text), missing, count);
    sentence_add(
        text, sizeof(text), " %s not called ml_init%s within %g s", count == 1 ? "has" : "have",
        missing && s->ranks[missing[0]].has_joined ? " again" : "", (double)g->timeout_ms / 1000);
    free(missing);
    generation_fail(g, ML_ERR_TIMEOUT, text);
}

/* The limit is the shortest time-out of all ranks that have joined. */
static int join_set_limit(struct generation *g, int64_t timeout_ms)
{
    int64_t deadline_ms = limits_now_ms(&g->server->limits) + timeout_ms;

    if (limit_is_set(&g->limit) && deadline_ms >= g->deadline_ms)
        return 0;
    g->deadline_ms = deadline_ms;
    g->timeout_ms = timeout_ms;
    return limit_start(&g->limit, &g->server->limits, timeout_ms, join_on_timeout, g);
}

/* A rank that has ended will never join. */
static void join_fail_if_ended(struct generation *g)
{
    struct server *s = g->server;

    for (int i = 0; i < s->size && s->exited > 0; i++) {
        if (g->ranks[i].state == RANK_ABSENT && s->ranks[i].has_exited) {
            liveness_fail_join(g, i);
            return;
        }
    }
}

/* The process says that it takes a dead rank's place, and none with its number has come before. */
static bool is_newcomer(const struct connection *c, const json_t *message, int *replaces)
{
    json_int_t number = 0;

    json_unpack((json_t *)message, "{s?I}", "replaces", &number);
    if ((!c->server->replaces && c->rank < c->server->began) || number < 0 || number > INT_MAX)
        return false;
    *replaces = (int)number;
    return *replaces > c->server->ranks[c->rank].replaced;
}

int join_receive(struct connection *c, json_t *message, struct fault *why)
{
    struct server *s = c->server;
    struct generation *g = generation_find(s, c->number);
    char text[sizeof(why->text)] = "";
    json_int_t pid, timeout_ms;
    struct generation_rank *one;
    int replaces;

    if (c->generation || s->ranks[c->rank].newcomer == c)
        return fault_set(why, ML_ERR_REFUSED, "it joined twice");
    if (json_unpack(message, "{s:I, s:I}", "pid", &pid, "timeout_ms", &timeout_ms) ||
        timeout_ms < 0 || timeout_ms > INT_MAX)
        return fault_set(why, ML_ERR_REFUSED, "its JOIN is malformed");
    if (is_newcomer(c, message, &replaces)) {
        membership_receive_newcomer(c, pid, replaces);
        return 0;
    }
    if (!g)
        g = generation_create(s, c->number);
    if (!g) {
        generation_refuse(c, ML_ERR_MEMORY, "the coordinator is out of memory");
        return 0;
    }
    one = &g->ranks[c->rank];
    if (one->state != RANK_ABSENT) {
        sentence_add_rank(s, text, sizeof(text), c->rank);
        sentence_add(text, sizeof(text), " is held by another process (pid %lld)",
                     (long long)one->pid);
        generation_refuse(c, ML_ERR_STATE, text);
        return 0;
    }
    if (g->failed.code) {
        generation_refuse(c, g->failed.code, g->failed.text);
        return 0;
    }
    if (join_set_limit(g, timeout_ms)) {
        generation_refuse(c, ML_ERR_MEMORY, "the coordinator is out of memory");
        return 0;
    }
    one->state = RANK_JOINED;
    one->connection = c;
    one->pid = pid;
    c->generation = g;
    s->ranks[c->rank].has_joined = true;
    meeting_begin(s, &g->meeting);
    if (++g->joined == s->size)
        join_complete(g);
    else
        join_fail_if_ended(g);
    return 0;
}

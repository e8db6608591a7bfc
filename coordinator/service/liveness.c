/* SPDX-License-Identifier: MIT */
/* liveness.c: ranks that die or leave, the sentence that says how, and which ranks are told. */
#include "coordinator/service/liveness.h"

#include "common/failure_times.h"
#include "common/net/host_table.h"
#include "common/text/text_json.h"
#include "coordinator/connection.h"
#include "coordinator/connection_send.h"
#include "coordinator/generation.h"
#include "coordinator/protocol.h"
#include "coordinator/sentence.h"
#include "coordinator/server_group.h"
#include "coordinator/service/agent_exchange.h"
#include "coordinator/service/membership.h"
#include "coordinator/service/relayed.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { SENTENCE = sizeof(((struct fault *)NULL)->text) };

/* True if the rank's first process, whose end the agent reported, is the one that held this
 * claim. */
static bool is_first_process(const struct server_rank *r, const struct generation_rank *one)
{
    return r->has_exited && (r->is_lost || r->exit_pid == one->pid || r->exit_pid == 0);
}

/* Writes "rank 3 was killed by signal 9 (Killed) on host b (pid 4711)", as far as it is known. */
static void death_describe(const struct generation_rank *one, char text[SENTENCE])
{
    const struct server *s = one->generation->server;
    const struct server_rank *r = &s->ranks[one->rank];

    text[0] = '\0';
    if (one->abort_text) {
        sentence_add_rank(s, text, SENTENCE, one->rank);
        sentence_add(text, SENTENCE, " called ml_abort%s%s", *one->abort_text ? ": " : "",
                     one->abort_text);
    } else if (is_first_process(r, one)) {
        sentence_add(text, SENTENCE, "rank %d %s", one->rank, r->exit_text);
    } else {
        sentence_add_rank(s, text, SENTENCE, one->rank);
        sentence_add(text, SENTENCE, " (pid %lld) has ended without calling ml_finalize",
                     (long long)one->pid);
    }
}

/* Declares `one` dead and tells all others. May free the generation. */
static void rank_die(struct generation_rank *one)
{
    struct generation *g = one->generation;
    char text[SENTENCE];

    if (one->timer)
        event_del(one->timer);
    one->state = RANK_DEAD;
    death_describe(one, text);
    if (!g->is_complete) {
        sentence_add(text, sizeof(text), " before all ranks had called ml_init");
        generation_fail(g, ML_ERR_PEER, text);
    } else {
        generation_send(g, COORD_DEAD,
                        json_pack("{s:i, s:o}", "rank", one->rank, "text", text_json(text)),
                        one->rank);
        server_group_on_lost(g, one->rank, text);
        membership_lose(g);
    }
    generation_release(g);
}

/* The time for the agent's report is over, or the process has ended and its connection is still
 * open: a forked child may hold the socket. */
static void rank_on_timer(evutil_socket_t fd, short what, void *arg)
{
    struct generation_rank *one = arg;

    (void)fd, (void)what;
    if (one->state == RANK_JOINED && one->connection)
        connection_drop(one->connection); /* calls on_rank_closed */
    else if (one->state == RANK_DYING)
        rank_die(one);
}

static int rank_start_timer(struct generation_rank *one)
{
    static const struct timeval time = FAILURE_TIMEVAL(EXIT_REPORT_MS);

    if (!one->timer)
        one->timer = evtimer_new(one->generation->server->base, rank_on_timer, one);
    return one->timer ? event_add(one->timer, &time) : -1;
}

static void newcomer_lose(struct server *s, int rank)
{
    s->ranks[rank].newcomer = NULL;
    for (struct generation *g = s->generations; g; g = g->next)
        if (g->is_complete)
            membership_lose(g);
}

static void on_rank_closed(struct connection *c)
{
    struct generation *g = c->generation;
    struct generation_rank *one;

    if (c->server->ranks[c->rank].newcomer == c)
        newcomer_lose(c->server, c->rank);
    if (!g)
        return;
    one = &g->ranks[c->rank];
    c->generation = NULL;
    one->connection = NULL;
    if (one->state != RANK_JOINED) {
        generation_release(g);
        return;
    }
    one->state = RANK_DYING;
    /* No report comes after ml_abort, or after the end of the first process. */
    if (one->abort_text || g->server->ranks[c->rank].has_exited || rank_start_timer(one))
        rank_die(one);
}

void liveness_fail_join(struct generation *g, int rank)
{
    const struct server_rank *r = &g->server->ranks[rank];
    char text[SENTENCE] = "";

    sentence_add(text, sizeof(text), "rank %d %s", rank, r->exit_text);
    if (!r->is_lost)
        sentence_add(text, sizeof(text), " without calling ml_init%s",
                     r->has_joined ? " again" : "");
    generation_fail(g, ML_ERR_PEER, text);
}

/* Handles the end of a rank's first process in one generation. May free the generation. */
static void rank_on_exited(struct generation *g, int rank)
{
    struct generation_rank *one = &g->ranks[rank];
    const struct server_rank *r = &g->server->ranks[rank];

    if (one->state == RANK_ABSENT && !g->is_complete)
        liveness_fail_join(g, rank);
    else if (one->state == RANK_ABSENT)
        membership_look(g);
    else if (one->state == RANK_DYING)
        rank_die(one);
    else if (one->state == RANK_JOINED && r->is_lost)
        connection_drop(one->connection);
    else if (one->state == RANK_JOINED && is_first_process(r, one) && rank_start_timer(one))
        connection_drop(one->connection);
}

void liveness_rank_exited(struct server *s, int rank, int64_t pid, const char *text, bool is_lost)
{
    struct server_rank *r = &s->ranks[rank];
    struct generation *g, *next;

    if (r->owes_exit && !is_lost) { /* the process before the present one has */
        r->owes_exit = false;
        return;
    }
    if (is_lost && r->newcomer)
        connection_drop(r->newcomer);
    if (r->has_exited)
        return;
    r->exit_text = strdup(text);
    if (!r->exit_text)
        return; /* the end of the connection will show it, without the reason */
    r->has_exited = true;
    r->is_lost = is_lost;
    r->exit_pid = pid;
    s->exited++;
    for (g = s->generations; g; g = next) {
        next = g->next;
        rank_on_exited(g, rank);
    }
    agent_exchange_on_exited(s);
}

void liveness_lose_host(struct server *s, int host)
{
    char text[SENTENCE] = "";

    s->has_agent[host] = false;
    sentence_add(text, sizeof(text), "is gone: host %s was lost", s->host_names[host]);
    for (int i = 0; i < s->size; i++) {
        if (s->host_of[i] == host)
            liveness_rank_exited(s, i, 0, text, true);
    }
}

void liveness_on_closed(struct connection *c, enum connection_state was)
{
    if (was == CONNECTION_RANK) {
        on_rank_closed(c);
        return;
    }
    liveness_lose_host(c->server, c->host);
    relayed_drop_all(c);
}

int liveness_receive_exited(struct connection *c, json_t *message, struct fault *why)
{
    struct server *s = c->server;
    json_int_t rank, pid;
    const char *text;

    if (json_unpack(message, "{s:I, s:I, s:s}", "rank", &rank, "pid", &pid, "text", &text) ||
        rank < 0 || rank >= s->size || s->host_of[rank] != c->host)
        return fault_set(why, ML_ERR_REFUSED, "its EXITED is malformed");
    liveness_rank_exited(s, (int)rank, pid, text, false);
    return 0;
}

/* The generation is what the rank says: a process that has taken a rank's place counts its own in
 * the handshake. */
int liveness_receive_unreached(struct connection *c, json_t *message, struct fault *why)
{
    struct server *s = c->server;
    const char *text;
    json_int_t peer, generation, membership;

    if (json_unpack(message, "{s:I, s:I, s:I, s:s}", "rank", &peer, "generation", &generation,
                    "membership", &membership, "text", &text) ||
        peer < 0 || peer >= s->size || generation < 0 || generation > UINT32_MAX ||
        membership < 0 || membership > UINT32_MAX)
        return fault_set(why, ML_ERR_REFUSED, "its UNREACHED is malformed");
    if (s->events.on_unreached)
        s->events.on_unreached(
            c->rank, (int)peer,
            (struct server_membership){(uint32_t)generation, (uint32_t)membership}, text,
            s->events.arg);
    return 0;
}

int liveness_receive_alone(struct connection *c, json_t *message, struct fault *why)
{
    const struct server *s = c->server;
    const char *text;

    if (json_unpack(message, "{s:s}", "text", &text))
        return fault_set(why, ML_ERR_REFUSED, "its ALONE is malformed");
    if (s->events.on_alone)
        s->events.on_alone(c->rank, text, s->events.arg);
    return 0;
}

static json_t *left_make(const int *ranks, int count)
{
    return json_pack("{s:i, s:o}", "count", count, "ranks", host_table_write_numbers(ranks, count));
}

void liveness_send_left(struct connection *c)
{
    connection_send_json(c, COORD_LEFT, left_make(&c->rank, 1));
}

/* Tells the ranks that stay which have left since it last did. */
static void leavers_tell(struct generation *g)
{
    int *ranks = malloc((size_t)g->server->size * sizeof(*ranks)), count = 0;

    for (int i = 0; i < g->server->size; i++) {
        if (g->ranks[i].is_untold && ranks)
            ranks[count++] = i;
        g->ranks[i].is_untold = false;
    }
    /* Without memory the message is NULL, and generation_send gives the connections up. */
    generation_send(g, COORD_LEFT, ranks ? left_make(ranks, count) : NULL, -1);
    free(ranks);
}

static void leavers_on_timer(evutil_socket_t fd, short what, void *arg)
{
    (void)fd, (void)what;
    leavers_tell(arg);
}

/* Most ranks leave at the same time, at the end of a job, and a message to each about each would
 * be as many as the square of the ranks. So the first is told of a little later, with the rest. */
static void leavers_tell_soon(struct generation *g)
{
    const struct timeval time = {.tv_usec = g->server->leavers_ms * 1000};

    if (!g->leavers)
        g->leavers = evtimer_new(g->server->base, leavers_on_timer, g);
    if (!g->leavers || (!evtimer_pending(g->leavers, NULL) && evtimer_add(g->leavers, &time) != 0))
        leavers_tell(g);
}

void liveness_receive_leave(struct generation_rank *one)
{
    struct generation *g = one->generation;
    char text[SENTENCE] = "";

    one->state = RANK_LEFT;
    if (one->timer)
        event_del(one->timer);
    liveness_send_left(one->connection);
    sentence_add_rank(g->server, text, sizeof(text), one->rank);
    if (g->is_complete) {
        one->is_untold = true;
        leavers_tell_soon(g);
        sentence_add(text, sizeof(text), " has called ml_finalize");
        server_group_on_lost(g, one->rank, text);
        membership_look(g);
    } else {
        sentence_add(text, sizeof(text), " left before all ranks had called ml_init");
        generation_fail(g, ML_ERR_PEER, text);
    }
}

int liveness_receive_abort(struct connection *c, json_t *message, struct fault *why)
{
    struct server *s = c->server;
    const char *text = "";
    json_int_t status;
    struct generation_rank *one;

    if (json_unpack(message, "{s:I, s?s}", "status", &status, "why", &text) || status < INT_MIN ||
        status > INT_MAX)
        return fault_set(why, ML_ERR_REFUSED, "its ABORT is malformed");
    if (s->events.on_abort)
        s->events.on_abort(c->rank, (int)status, text, s->events.arg);
    if (c->generation) {
        one = &c->generation->ranks[c->rank];
        free(one->abort_text);
        one->abort_text = strdup(text);
    }
    liveness_send_left(c);
    return 0;
}

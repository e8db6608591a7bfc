/* SPDX-License-Identifier: MIT */
/*
 * membership.c: once all ranks that live have sent REPAIR, they get a new world, and nothing of the
 * old one counts any more. AGREE: what those that live agree on before that.
 *
 * Ranks keep their numbers, which are their ids then. Group numbers are never used again, so all
 * that carries one, a segment's name or a handshake, is of one membership only.
 *
 * A newcomer is a process that takes a dead rank's place. It waits, as a member of nothing, until
 * those that live repair their world; then it is one of them. A place is empty while its rank is
 * dead and no newcomer waits; one that somebody may still take is waited for, but not for ever.
 */
#include "coordinator/service/membership.h"

#include "common/net/host_table.h"
#include "common/text/text_json.h"
#include "coordinator/connection.h"
#include "coordinator/connection_send.h"
#include "coordinator/creation.h"
#include "coordinator/generation.h"
#include "coordinator/protocol.h"
#include "coordinator/sentence.h"
#include "coordinator/service/meeting.h"

#include <limits.h>
#include <stdlib.h>

/* --- AGREE ------------------------------------------------------------------------------------ */

static void agreed_send(struct server_group *p, uint64_t value, const struct fault *failed)
{
    for (int i = 0; i < p->count; i++) {
        struct server_seat *seat = &p->seats[i];
        struct connection *c = p->generation->ranks[seat->rank].connection;

        if (seat->has_agreed && failed)
            connection_send_json(c, COORD_AGREED,
                                 json_pack("{s:I, s:i, s:o}", "group", (json_int_t)p->id, "code",
                                           failed->code, "text", text_json(failed->text)));
        else if (seat->has_agreed)
            connection_send_json(
                c, COORD_AGREED,
                json_pack("{s:I, s:I}", "group", (json_int_t)p->id, "value", (json_int_t)value));
        seat->has_agreed = false;
    }
    p->agreeing = (struct server_meeting){0};
}

/* The values of members that have died since count too: all get the same answer. */
static void agree_look(struct server_group *p)
{
    uint64_t value = UINT64_MAX;
    int agreed = 0;

    for (int i = 0; i < p->count; i++) {
        const struct server_seat *seat = &p->seats[i];

        agreed += seat->has_agreed;
        if (seat->has_agreed)
            value &= seat->agreed;
        else if (generation_is_alive(&p->generation->ranks[seat->rank]))
            return;
    }
    if (agreed > 0)
        agreed_send(p, value, NULL);
}

int membership_receive_agree(struct server_group *p, struct server_seat *seat, json_t *message,
                             struct fault *why)
{
    json_int_t value;

    if (json_unpack(message, "{s:I}", "value", &value) || seat->has_agreed)
        return fault_set(why, ML_ERR_REFUSED, "its AGREE is malformed or came twice");
    seat->has_agreed = true;
    seat->agreed = (uint64_t)value;
    meeting_begin(p->generation->server, &p->agreeing);
    if (p->generation->is_repairing)
        agreed_send(p, 0, &p->broken);
    else
        agree_look(p);
    return 0;
}

/* --- REPAIR ----------------------------------------------------------------------------------- */

/* The first REPAIR ends all calls on all groups. */
static void repair_begin(struct generation *g, int rank)
{
    char text[sizeof(((struct fault *)NULL)->text)] = "";

    sentence_add_rank(g->server, text, sizeof(text), rank);
    sentence_add(text, sizeof(text),
                 " has called ml_repair: the group is of an earlier membership");
    for (struct server_group *p = g->groups; p; p = p->next) {
        if (!p->broken.code)
            server_group_break(p, ML_ERR_PEER, p->lost.code ? p->lost.text : text);
        agreed_send(p, 0, &p->broken);
    }
    creation_end_all(g, ML_ERR_PEER, text);
    g->is_repairing = true;
    g->meeting = (struct server_meeting){0};
    meeting_begin(g->server, &g->meeting);
}

static void repair_end(struct generation *g)
{
    for (int i = 0; i < g->server->size; i++)
        g->ranks[i].has_repaired = false;
    g->is_repairing = g->has_waited = false;
    g->meeting = (struct server_meeting){0};
    limit_clear(&g->repair_limit);
    limit_clear(&g->place_limit);
}

static void repair_fail(struct generation *g, int code, const char *text)
{
    for (int i = 0; i < g->server->size; i++)
        if (g->ranks[i].has_repaired)
            connection_send_json(g->ranks[i].connection, COORD_FAILED,
                                 json_pack("{s:i, s:o}", "code", code, "text", text_json(text)));
    repair_end(g);
}

/* The rank is its newcomer's from now on, who is told what the others learned in ml_init. */
static void newcomer_seat(struct generation *g, int rank)
{
    struct server_rank *r = &g->server->ranks[rank];
    struct generation_rank *one = &g->ranks[rank];
    struct connection *c = r->newcomer;
    json_t *welcome = generation_welcome(g->server);

    json_object_set_new(welcome, "generation", json_integer(g->number));
    connection_send_json(c, COORD_WELCOME, welcome);
    free(one->abort_text);
    one->abort_text = NULL;
    one->state = RANK_JOINED;
    one->connection = c;
    one->pid = r->newcomer_pid;
    c->generation = g;
    r->newcomer = NULL;
    r->has_joined = true;
}

/* Seats the newcomers among these ranks, whom it stores in `came`. Returns how many there are. */
static int newcomers_seat(struct generation *g, const int *ranks, int count, int *came)
{
    int came_count = 0;

    for (int i = 0; i < count; i++)
        if (g->server->ranks[ranks[i]].newcomer) {
            newcomer_seat(g, ranks[i]);
            came[came_count++] = ranks[i];
        }
    return came_count;
}

/* All that live have come. `came` has room for all ranks. */
static void repair_complete(struct generation *g, const int *ranks, int count, int *came)
{
    struct server *s = g->server;
    json_t *repaired;
    int came_count;

    while (g->groups)
        server_group_destroy(g->groups);
    g->world = g->next_group;
    if (!server_group_create(g, ranks, count)) {
        repair_fail(g, ML_ERR_MEMORY, "the coordinator is out of memory");
        return;
    }
    g->membership++;
    repair_end(g);
    came_count = newcomers_seat(g, ranks, count, came);
    repaired = json_pack("{s:I, s:I, s:i, s:o, s:i, s:o}", "membership", (json_int_t)g->membership,
                         "group", (json_int_t)g->world, "count", count, "members",
                         host_table_write_numbers(ranks, count), "came_count", came_count, "came",
                         host_table_write_numbers(came, came_count));
    if (s->size > s->began || s->takes_over)
        json_object_update_new(repaired, json_pack("{s:i, s:o}", "size", s->size, "host_of",
                                                   host_table_write_numbers(s->host_of, s->size)));
    if (s->has_placed)
        json_object_update_new(
            repaired,
            json_pack("{s:i, s:o}", "hosts", s->hosts, "names",
                      host_table_write_texts((const char *const *)s->host_names, s->hosts)));
    generation_send(g, COORD_REPAIRED, repaired, -1);
    if (s->events.on_repaired)
        s->events.on_repaired((struct server_membership){g->number, g->membership}, ranks, count,
                              s->events.arg);
}

static void places_on_timeout(evutil_socket_t fd, short what, void *arg)
{
    struct generation *g = arg;

    (void)fd, (void)what;
    g->has_waited = true;
    membership_look(g);
}

/* False: the time cannot be measured. */
static bool places_wait(struct generation *g, int ms)
{
    if (limit_is_set(&g->place_limit))
        return true;
    if (limit_start(&g->place_limit, &g->server->limits, ms, places_on_timeout, g))
        return false;
    for (int i = 0; i < g->server->size; i++)
        if (generation_is_ready(&g->ranks[i]))
            connection_send_json(g->ranks[i].connection, COORD_AWAITS,
                                 json_pack("{s:i}", "ms", ms));
    return true;
}

/* Carries out what next_world_decide() says. `ranks` has room for all ranks twice. */
static void next_world_begin(struct generation *g, struct next_world_facts *facts, int *ranks)
{
    struct next_world next = next_world_decide(facts, ranks);

    if (next.step == NEXT_WORLD_AWAIT_NEWCOMERS && !places_wait(g, next.wait_ms)) {
        facts->has_waited = true;
        next = next_world_decide(facts, ranks);
    }
    switch (next.step) {
    case NEXT_WORLD_AWAIT_LIVING:
    case NEXT_WORLD_AWAIT_NEWCOMERS:
        break;
    case NEXT_WORLD_MAKE:
        repair_complete(g, ranks, next.count, ranks + facts->count);
        break;
    case NEXT_WORLD_END:
        repair_end(g);
        break;
    }
}

static void repair_look(struct generation *g)
{
    struct server *s = g->server;
    struct next_world_rank *facts = calloc((size_t)s->size, sizeof(*facts));
    int *ranks = calloc(2 * (size_t)s->size, sizeof(*ranks));

    for (int i = 0; i < s->size && facts; i++)
        facts[i] = generation_facts(&g->ranks[i]);
    if (facts && ranks)
        next_world_begin(g,
                         &(struct next_world_facts){.ranks = facts,
                                                    .count = s->size,
                                                    .newcomers_ms = s->replace_ms,
                                                    .has_waited = g->has_waited},
                         ranks);
    else
        repair_fail(g, ML_ERR_MEMORY, "the coordinator is out of memory");
    free(facts);
    free(ranks);
}

void membership_look(struct generation *g)
{
    for (struct server_group *p = g->groups; p && !g->is_repairing; p = p->next)
        agree_look(p);
    if (g->is_repairing)
        repair_look(g);
}

static void repair_on_timeout(evutil_socket_t fd, short what, void *arg)
{
    struct generation *g = arg;
    struct server *s = g->server;
    int *missing = calloc((size_t)s->size, sizeof(*missing)), count = 0;
    char text[sizeof(((struct fault *)NULL)->text)] = "";

    (void)fd, (void)what;
    for (int i = 0; missing && i < s->size; i++)
        if (generation_awaits(&g->ranks[i]))
            missing[count++] = i;
    sentence_add_hosts(s, text, sizeof(text), missing, count);
    sentence_add(text, sizeof(text), " %s not called ml_repair in time",
                 count == 1 ? "has" : "have");
    free(missing);
    if (count > 0) /* otherwise newcomers are waited for */
        repair_fail(g, ML_ERR_TIMEOUT, text);
}

/* The time begins with the first that comes. */
static int repair_set_limit(struct generation *g, int64_t timeout_ms)
{
    return limit_start(&g->repair_limit, &g->server->limits, timeout_ms, repair_on_timeout, g);
}

/* The rank has a process again. */
static void rank_forget_end(struct server *s, int rank)
{
    struct server_rank *r = &s->ranks[rank];

    if (!r->has_exited)
        return;
    r->has_exited = r->is_lost = false;
    free(r->exit_text);
    r->exit_text = NULL;
    s->exited--;
}

/* The first frame of a rank to a coordinator that takes over: it has joined a generation that was
 * complete before. NULL: it is refused. */
static struct generation_rank *rank_take_over(struct connection *c, struct fault *why)
{
    struct server *s = c->server;
    struct generation *g = generation_find(s, c->number);
    struct generation_rank *one;

    if (!s->takes_over) {
        fault_set(why, ML_ERR_REFUSED, "it sent REPAIR before it had joined");
        return NULL;
    }
    if (!g)
        g = generation_create(s, c->number);
    one = g ? &g->ranks[c->rank] : NULL;
    if (!one) {
        fault_set(why, ML_ERR_MEMORY, "the coordinator is out of memory");
        return NULL;
    }
    g->is_complete = true;
    if (one->state != RANK_ABSENT ||
        (s->ranks[c->rank].has_exited && (!s->replaces || s->ranks[c->rank].is_vacant))) {
        fault_set(why, ML_ERR_STATE, "the rank has ended, or has another process");
        return NULL;
    }
    rank_forget_end(s, c->rank);
    g->membership = s->membership > g->membership ? s->membership : g->membership;
    one->state = RANK_JOINED;
    one->connection = c;
    c->generation = g;
    s->ranks[c->rank].has_joined = true;
    return one;
}

int membership_receive_repair(struct connection *c, json_t *message, struct fault *why)
{
    struct generation_rank *one =
        c->generation ? &c->generation->ranks[c->rank] : rank_take_over(c, why);
    json_int_t pid, timeout_ms, groups;
    struct generation *g;

    if (!one)
        return why->code;
    g = one->generation;
    if (one->state != RANK_JOINED || !g->is_complete)
        return 0; /* it comes too late */
    if (json_unpack(message, "{s:I, s:I, s:I}", "pid", &pid, "timeout_ms", &timeout_ms, "groups",
                    &groups) ||
        timeout_ms < 0 || timeout_ms > INT_MAX || groups < 0 || groups > INT_MAX ||
        one->has_repaired)
        return fault_set(why, ML_ERR_REFUSED, "its REPAIR is malformed or came twice");
    if (groups > g->next_group)
        g->next_group = (uint32_t)groups;
    if (!g->groups) /* it takes over, and all that the rank names until REPAIRED is of before */
        g->world = g->next_group;
    one->pid = pid;
    one->has_repaired = true;
    if (!g->is_repairing) {
        repair_begin(g, one->rank);
        if (repair_set_limit(g, timeout_ms)) {
            repair_fail(g, ML_ERR_MEMORY, "the coordinator is out of memory");
            return 0;
        }
    }
    membership_look(g);
    return 0;
}

/* --- newcomers -------------------------------------------------------------------------------- */

void membership_lose(struct generation *g)
{
    limit_clear(&g->place_limit);
    g->has_waited = false;
    membership_look(g);
}

/* The process before it has ended, although something may hold its connection open. */
static void former_drop(struct server *s, int rank)
{
    for (struct generation *next, *g = s->generations; g; g = next) {
        next = g->next;
        if (g->ranks[rank].state == RANK_JOINED)
            connection_drop(g->ranks[rank].connection); /* which may free the generation */
    }
}

void membership_receive_newcomer(struct connection *c, int64_t pid, int replaces)
{
    struct server *s = c->server;
    struct server_rank *r = &s->ranks[c->rank];

    if (r->newcomer) {
        generation_refuse(c, ML_ERR_STATE, "another process has come to take that rank's place");
        return;
    }
    former_drop(s, c->rank);
    if (!s->has_met) {
        generation_refuse(c, ML_ERR_PEER, "the rank died before all ranks had called ml_init");
        return;
    }
    r->owes_exit = !r->has_exited;
    rank_forget_end(s, c->rank);
    r->replaced = replaces;
    r->newcomer = c;
    r->newcomer_pid = pid;
    for (struct generation *next, *g = s->generations; g; g = next) {
        next = g->next;
        if (!g->is_complete)
            continue;
        generation_send(g, COORD_COMES, json_pack("{s:i}", "rank", c->rank), -1);
        membership_look(g);
    }
}

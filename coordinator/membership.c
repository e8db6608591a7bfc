/* SPDX-License-Identifier: MIT */
/*
 * membership.c: once all ranks that live have sent REPAIR, they get a new world, and nothing of the
 * old one counts any more. AGREE: what those that live agree on before that.
 *
 * Ranks keep their numbers, which are their ids then. Group numbers are never used again, so all
 * that carries one, a segment's name or a handshake, is of one membership only.
 */
#include "coordinator/server_state.h"

#include "common/net/host_table.h"
#include "common/text/text_json.h"
#include "coordinator/protocol.h"
#include "coordinator/sentence.h"

#include <limits.h>
#include <stdlib.h>

/* --- AGREE ------------------------------------------------------------------------------------ */

static void agreed_send(struct server_group *p, uint64_t value, const struct fault *failed)
{
    for (int i = 0; i < p->count; i++) {
        struct server_seat *seat = &p->seats[i];
        struct connection *c = p->generation->members[seat->rank].connection;

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
        else if (generation_is_alive(&p->generation->members[seat->rank]))
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
    g->is_repairing = true;
    g->meeting = (struct server_meeting){0};
    meeting_begin(g->server, &g->meeting);
}

static void repair_end(struct generation *g)
{
    for (int i = 0; i < g->server->size; i++)
        g->members[i].has_repaired = false;
    g->is_repairing = false;
    g->meeting = (struct server_meeting){0};
    if (g->repair_timer)
        event_del(g->repair_timer);
}

static void repair_fail(struct generation *g, int code, const char *text)
{
    for (int i = 0; i < g->server->size; i++)
        if (g->members[i].has_repaired)
            connection_send_json(g->members[i].connection, COORD_FAILED,
                                 json_pack("{s:i, s:o}", "code", code, "text", text_json(text)));
    repair_end(g);
}

/* All that live have come. */
static void repair_complete(struct generation *g, const int *ranks, int count)
{
    struct server *s = g->server;

    while (g->groups)
        server_group_destroy(g->groups);
    g->world = g->next_group;
    if (!server_group_create(g, ranks, count)) {
        repair_fail(g, ML_ERR_MEMORY, "the coordinator is out of memory");
        return;
    }
    g->membership++;
    repair_end(g);
    generation_send(g, COORD_REPAIRED,
                    json_pack("{s:I, s:I, s:i, s:o}", "membership", (json_int_t)g->membership,
                              "group", (json_int_t)g->world, "count", count, "members",
                              host_table_write_numbers(ranks, count)),
                    -1);
    if (s->events.on_repaired)
        s->events.on_repaired(g->membership, ranks, count, s->events.arg);
}

void membership_look(struct generation *g)
{
    int *ranks, count = 0;

    for (struct server_group *p = g->groups; p && !g->is_repairing; p = p->next)
        agree_look(p);
    if (!g->is_repairing)
        return;
    for (int i = 0; i < g->server->size; i++)
        if (generation_awaits(&g->members[i]))
            return;
    ranks = malloc((size_t)g->server->size * sizeof(*ranks));
    if (!ranks) {
        repair_fail(g, ML_ERR_MEMORY, "the coordinator is out of memory");
        return;
    }
    for (int i = 0; i < g->server->size; i++)
        if (generation_is_ready(&g->members[i]))
            ranks[count++] = i;
    if (count > 0)
        repair_complete(g, ranks, count);
    else
        repair_end(g);
    free(ranks);
}

static void repair_on_timeout(evutil_socket_t fd, short what, void *arg)
{
    struct generation *g = arg;
    struct server *s = g->server;
    int *missing = calloc((size_t)s->size, sizeof(*missing)), count = 0;
    char text[sizeof(((struct fault *)NULL)->text)] = "";

    (void)fd, (void)what;
    for (int i = 0; missing && i < s->size; i++)
        if (generation_awaits(&g->members[i]))
            missing[count++] = i;
    sentence_add_hosts(s, text, sizeof(text), missing, count);
    sentence_add(text, sizeof(text), " %s not called ml_repair in time",
                 count == 1 ? "has" : "have");
    free(missing);
    repair_fail(g, ML_ERR_TIMEOUT, text);
}

/* The time begins with the first that comes. */
static int repair_set_timer(struct generation *g, int64_t timeout_ms)
{
    const struct timeval time = {.tv_sec = timeout_ms / 1000, .tv_usec = timeout_ms % 1000 * 1000};

    if (!g->repair_timer)
        g->repair_timer = evtimer_new(g->server->base, repair_on_timeout, g);
    return g->repair_timer ? event_add(g->repair_timer, &time) : -1;
}

/* The first frame of a rank to a coordinator that takes over: it is a member of a generation that
 * was complete before. NULL: it is refused. */
static struct server_member *member_take_over(struct connection *c, struct fault *why)
{
    struct server *s = c->server;
    struct generation *g = generation_find(s, c->number);
    struct server_member *m;

    if (!s->takes_over) {
        fault_set(why, ML_ERR_REFUSED, "it sent REPAIR before it had joined");
        return NULL;
    }
    if (!g)
        g = generation_create(s, c->number);
    m = g ? &g->members[c->rank] : NULL;
    if (!m) {
        fault_set(why, ML_ERR_MEMORY, "the coordinator is out of memory");
        return NULL;
    }
    g->is_complete = true;
    if (m->state != MEMBER_ABSENT || s->ranks[c->rank].has_exited) {
        fault_set(why, ML_ERR_STATE, "the rank has ended, or has another process");
        return NULL;
    }
    g->membership = s->membership > g->membership ? s->membership : g->membership;
    m->state = MEMBER_JOINED;
    m->connection = c;
    c->generation = g;
    s->ranks[c->rank].has_joined = true;
    return m;
}

int membership_receive_repair(struct connection *c, json_t *message, struct fault *why)
{
    struct server_member *m =
        c->generation ? &c->generation->members[c->rank] : member_take_over(c, why);
    json_int_t pid, timeout_ms, groups;
    struct generation *g;

    if (!m)
        return why->code;
    g = m->generation;
    if (m->state != MEMBER_JOINED || !g->is_complete)
        return 0; /* it comes too late */
    if (json_unpack(message, "{s:I, s:I, s:I}", "pid", &pid, "timeout_ms", &timeout_ms, "groups",
                    &groups) ||
        timeout_ms < 0 || timeout_ms > INT_MAX || groups < 0 || groups > INT_MAX || m->has_repaired)
        return fault_set(why, ML_ERR_REFUSED, "its REPAIR is malformed or came twice");
    if (groups > g->next_group)
        g->next_group = (uint32_t)groups;
    m->pid = pid;
    m->has_repaired = true;
    if (!g->is_repairing) {
        repair_begin(g, m->rank);
        if (repair_set_timer(g, timeout_ms)) {
            repair_fail(g, ML_ERR_MEMORY, "the coordinator is out of memory");
            return 0;
        }
    }
    membership_look(g);
    return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * server_split.c: new groups. ml_split: all members of a group take part, and those with the same
 * color become a group. ml_group_create: the members of the new group alone take part, each of
 * which has named all of them.
 */
#include "coordinator/service/server_split.h"

#include "common/net/host_table.h"
#include "common/text/text_json.h"
#include "coordinator/connection_send.h"
#include "coordinator/creation.h"
#include "coordinator/generation.h"
#include "coordinator/protocol.h"
#include "coordinator/sentence.h"
#include "coordinator/service/meeting.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* --- ml_split --------------------------------------------------------------------------------- */

struct server_split_choice {
    int color, key, place; /* place: rank in the old group */
    int rank;
};

static int choices_compare(const void *left, const void *right)
{
    const struct server_split_choice *a = left, *b = right;

    if (a->color != b->color)
        return a->color < b->color ? -1 : 1;
    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    return a->place < b->place ? -1 : 1;
}

/* Makes a group of the `count` members at `c` and tells them; with a negative color tells them that
 * they get none. False: out of memory. */
static bool split_answer(struct server_group *p, const struct server_split_choice *c, int count)
{
    bool is_group = c->color >= 0;
    int *ranks = calloc((size_t)count, sizeof(*ranks));
    json_t *members = json_array(), *message;
    struct server_group *made = NULL;
    char *text;
    bool ok;

    for (int i = 0; ranks && i < count; i++) {
        ranks[i] = c[i].rank;
        if (is_group)
            json_array_append_new(members, json_integer(c[i].rank));
    }
    if (ranks && is_group)
        made = server_group_create(p->generation, ranks, count);
    free(ranks);
    ok = made || !is_group;
    message = json_pack("{s:I, s:I, s:I, s:o}", "parent", (json_int_t)p->id, "seq",
                        (json_int_t)p->split_seq, "group", made ? (json_int_t)made->id : -1,
                        "members", members);
    text = ok ? json_dumps(message, JSON_COMPACT) : NULL;
    json_decref(message);
    for (int i = 0; i < count && text; i++)
        connection_cast_add(p->generation->ranks[c[i].rank].connection);
    for (int i = 0; i < count && text; i++)
        connection_cast_send(p->generation->ranks[c[i].rank].connection, COORD_SPLITTED, text,
                             strlen(text));
    ok = text;
    free(text);
    return ok;
}

static void split_complete(struct server_group *p)
{
    struct server_split_choice *choices = calloc((size_t)p->count, sizeof(*choices));
    bool ok = choices;
    int start, end;

    for (int i = 0; i < p->count && ok; i++) {
        const struct server_seat *seat = &p->seats[i];

        choices[i] = (struct server_split_choice){seat->color < 0 ? -1 : seat->color, seat->key, i,
                                                  seat->rank};
    }
    if (ok)
        qsort(choices, (size_t)p->count, sizeof(*choices), choices_compare);
    server_group_clear_split(p);
    for (start = 0; start < p->count && ok; start = end) {
        for (end = start + 1; end < p->count && choices[end].color == choices[start].color;)
            end++;
        ok = split_answer(p, &choices[start], end - start);
    }
    free(choices);
    if (!ok)
        server_group_break(p, ML_ERR_MEMORY, "the coordinator is out of memory");
}

static bool is_int(json_int_t value)
{
    return value >= INT_MIN && value <= INT_MAX;
}

int server_split_receive(struct server_group *p, struct server_seat *seat, json_t *message,
                         struct fault *why)
{
    json_int_t seq, color, key;

    if (json_unpack(message, "{s:I, s:I, s:I}", "seq", &seq, "color", &color, "key", &key) ||
        seq < 0 || seq > UINT32_MAX || !is_int(color) || !is_int(key))
        return fault_set(why, ML_ERR_REFUSED, "its SPLIT is malformed");
    if (seat->has_split)
        return fault_set(why, ML_ERR_REFUSED, "its SPLIT came twice");
    if (server_group_answers_broken(p, seat))
        return 0;
    if (p->split_count > 0 && seq != p->split_seq) {
        server_group_break(p, ML_ERR_MISMATCH,
                           "the ranks of the group are not in the same call of ml_split");
        return 0;
    }
    seat->has_split = true;
    seat->color = (int)color;
    seat->key = (int)key;
    p->split_seq = (uint32_t)seq;
    meeting_begin(p->generation->server, &p->meeting);
    if (++p->split_count == p->count)
        split_complete(p);
    return 0;
}

/* --- ml_group_create -------------------------------------------------------------------------- */

enum { TEXT = sizeof(((struct fault *)NULL)->text) };

static void creation_on_timeout(evutil_socket_t fd, short what, void *arg)
{
    struct creation *c = arg;
    int *missing = calloc((size_t)c->count, sizeof(*missing)), count = 0;
    char text[TEXT] = "";

    (void)fd, (void)what;
    for (int i = 0; missing && i < c->count; i++)
        if (!c->has_come[i])
            missing[count++] = c->ranks[i];
    sentence_add_hosts(c->generation->server, text, sizeof(text), missing, count);
    sentence_add(text, sizeof(text), " %s not called ml_group_create in time",
                 count == 1 ? "has" : "have");
    free(missing);
    creation_fail(c, ML_ERR_TIMEOUT, text);
}

static void creation_complete(struct creation *c)
{
    struct server_group *made = server_group_create(c->generation, c->ranks, c->count);

    if (!made) {
        creation_fail(c, ML_ERR_MEMORY, "the coordinator is out of memory");
        return;
    }
    for (int i = 0; i < c->count; i++)
        connection_send_json(
            c->generation->ranks[c->ranks[i]].connection, COORD_CREATED,
            json_pack("{s:I, s:I}", "group", (json_int_t)c->parent, "value", (json_int_t)made->id));
    creation_free(c);
}

static bool creation_awaits(const struct creation *c, int rank)
{
    int place = creation_place(c, rank);

    return place >= 0 && !c->has_come[place];
}

/* The one under way of that group and tag that awaits the rank, or NULL. */
static struct creation *creation_find(struct generation *g, json_int_t parent, uint64_t tag,
                                      int rank)
{
    struct creation *c = g->creations;

    while (c && (c->parent != parent || c->tag != tag || !creation_awaits(c, rank)))
        c = c->next;
    return c;
}

/* The first one that comes: the time begins. Takes over `ranks`. NULL: out of memory. */
static struct creation *creation_begin(struct generation_rank *one, uint32_t parent, uint64_t tag,
                                       int *ranks, int count, json_int_t timeout_ms)
{
    struct generation *g = one->generation;
    struct creation *c = calloc(1, sizeof(*c));

    if (!c) {
        free(ranks);
        return NULL;
    }
    *c = (struct creation){
        .generation = g, .parent = parent, .tag = tag, .ranks = ranks, .count = count};
    c->has_come = calloc((size_t)count, sizeof(*c->has_come));
    if (!c->has_come ||
        limit_start(&c->limit, &g->server->limits, timeout_ms, creation_on_timeout, c)) {
        creation_free(c);
        return NULL;
    }
    c->next = g->creations;
    g->creations = c;
    meeting_begin(g->server, &c->meeting);
    return c;
}

/* All have to name the same ranks in the same order. */
static bool creation_is_same(struct creation *c, int rank, const int *ranks, int count)
{
    char text[TEXT] = "";

    if (count == c->count && memcmp(ranks, c->ranks, (size_t)count * sizeof(*ranks)) == 0)
        return true;
    sentence_add_rank(c->generation->server, text, sizeof(text), rank);
    sentence_add(text, sizeof(text),
                 " has called ml_group_create with the same tag and other ranks than those that "
                 "wait for it there");
    creation_refuse(&c->generation->ranks[rank], c->parent, ML_ERR_MISMATCH, text);
    creation_fail(c, ML_ERR_MISMATCH, text);
    return false;
}

static void gone_describe(const struct generation_rank *one, char text[TEXT])
{
    const struct server *s = one->generation->server;
    const struct server_rank *r = &s->ranks[one->rank];

    if (one->state == RANK_DEAD && r->has_exited) {
        sentence_add(text, TEXT, "rank %d %s", one->rank, r->exit_text);
        return;
    }
    sentence_add_rank(s, text, TEXT, one->rank);
    sentence_add(text, TEXT,
                 one->state == RANK_LEFT ? " has called ml_finalize"
                                         : " is not a member of the world");
}

/* Refuses what can't come about; returns whether it has. */
static bool creation_is_refused(const struct generation_rank *one, json_int_t parent,
                                const int *ranks, int count)
{
    const struct generation *g = one->generation;
    char text[TEXT] = "";

    if (g->is_repairing) {
        creation_refuse(one, parent, ML_ERR_PEER, "a rank has called ml_repair");
        return true;
    }
    for (int i = 0; i < count; i++) {
        const struct generation_rank *other = &g->ranks[ranks[i]];

        if (generation_is_alive(other))
            continue;
        gone_describe(other, text);
        creation_refuse(one, parent, ML_ERR_PEER, text);
        return true;
    }
    return false;
}

/* True if no number is there twice, and `rank` is there. */
static bool is_list_with(const int *ranks, int count, int rank, int limit)
{
    bool *seen = calloc((size_t)limit, sizeof(*seen)), ok = seen, has_rank = false;

    for (int i = 0; i < count && ok; i++) {
        ok = !seen[ranks[i]];
        seen[ranks[i]] = true;
        has_rank |= ranks[i] == rank;
    }
    free(seen);
    return ok && has_rank;
}

int server_split_receive_create(struct generation_rank *one, json_t *message, struct fault *why)
{
    struct generation *g = one->generation;
    json_int_t parent, tag, timeout_ms;
    struct creation *c;
    struct server_seat *seat;
    int *ranks = NULL, count;
    json_t *list;

    if (json_unpack(message, "{s:I, s:I, s:I, s:i, s:o}", "group", &parent, "tag", &tag,
                    "timeout_ms", &timeout_ms, "count", &count, "ranks", &list) ||
        timeout_ms < 0 || timeout_ms > INT_MAX || count < 1 || count > g->server->size ||
        host_table_read_numbers(&ranks, list, count, g->server->size) ||
        !is_list_with(ranks, count, one->rank, g->server->size)) {
        free(ranks);
        return fault_set(why, ML_ERR_REFUSED, "its CREATE is malformed");
    }
    if (!server_group_of_rank(one, parent, &seat)) {
        free(ranks);
        return fault_set(why, ML_ERR_REFUSED, "its CREATE names a group that it is not in");
    }
    for (c = g->creations; c; c = c->next)
        if (c->parent == parent && creation_place(c, one->rank) >= 0 &&
            !creation_awaits(c, one->rank)) {
            free(ranks);
            return fault_set(why, ML_ERR_REFUSED, "its CREATE came twice");
        }
    c = creation_find(g, parent, (uint64_t)tag, one->rank);
    if (creation_is_refused(one, parent, ranks, count) ||
        (c && !creation_is_same(c, one->rank, ranks, count))) {
        free(ranks);
        return 0;
    }
    if (c)
        free(ranks);
    else
        c = creation_begin(one, (uint32_t)parent, (uint64_t)tag, ranks, count, timeout_ms);
    if (!c) {
        creation_refuse(one, parent, ML_ERR_MEMORY, "the coordinator is out of memory");
        return 0;
    }
    c->has_come[creation_place(c, one->rank)] = true;
    if (++c->come == c->count)
        creation_complete(c);
    return 0;
}

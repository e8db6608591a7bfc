/* SPDX-License-Identifier: MIT */
/* server_group.c: the world, groups made by split, those that are to be made, and broken groups. */
#include "coordinator/server_group.h"

#include "common/text/text_json.h"
#include "coordinator/connection_send.h"
#include "coordinator/creation.h"
#include "coordinator/protocol.h"
#include "coordinator/server_state.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct server_group *server_group_create(struct generation *g, const int *ranks, int count)
{
    struct server_group *p = calloc(1, sizeof(*p));

    if (!p)
        return NULL;
    p->seats = calloc((size_t)count, sizeof(*p->seats));
    if (!p->seats) {
        free(p);
        return NULL;
    }
    for (int i = 0; i < count; i++)
        p->seats[i].rank = ranks[i];
    p->count = count;
    p->id = g->next_group++;
    p->generation = g;
    p->next = g->groups;
    g->groups = p;
    return p;
}

void server_group_clear_wait(struct server_wait *w)
{
    free(w->call);
    free(w->signature);
    free(w->untyped);
    free(w->place);
    free(w->peers);
    memset(w, 0, sizeof(*w));
}

void server_group_clear_exchange(struct server_group *p)
{
    for (int i = 0; i < p->count; i++) {
        free(p->seats[i].blobs);
        p->seats[i].blobs = NULL;
    }
    p->exchange_count = 0;
    p->meeting = (struct server_meeting){0};
}

void server_group_clear_split(struct server_group *p)
{
    for (int i = 0; i < p->count; i++)
        p->seats[i].has_split = false;
    p->split_count = 0;
    p->meeting = (struct server_meeting){0};
}

void server_group_destroy(struct server_group *p)
{
    struct server_group **at = &p->generation->groups;

    while (*at != p)
        at = &(*at)->next;
    *at = p->next;
    server_group_clear_exchange(p);
    for (int i = 0; i < p->count; i++)
        server_group_clear_wait(&p->seats[i].wait);
    free(p->seats);
    free(p);
}

static struct server_group *server_group_find(struct generation *g, json_int_t id)
{
    struct server_group *p = g->groups;

    while (p && p->id != id)
        p = p->next;
    return p;
}

struct server_seat *server_group_seat(struct server_group *p, int rank)
{
    if (rank < p->count && p->seats[rank].rank == rank)
        return &p->seats[rank]; /* as in the world group */
    for (int i = 0; i < p->count; i++) {
        if (p->seats[i].rank == rank)
            return &p->seats[i];
    }
    return NULL;
}

struct server_group *server_group_of_rank(struct generation_rank *one, json_int_t id,
                                          struct server_seat **seat)
{
    struct server_group *p = server_group_find(one->generation, id);

    *seat = p ? server_group_seat(p, one->rank) : NULL;
    return *seat ? p : NULL;
}

const char *server_group_name(const struct server_group *p, char out[32])
{
    if (p->id == p->generation->world)
        return "the world group";
    snprintf(out, 32, "%s %u", p->is_window ? "window" : "group", p->id);
    return out;
}

static json_t *broken_message(const struct server_group *p, const struct fault *f)
{
    return json_pack("{s:I, s:i, s:o}", "group", (json_int_t)p->id, "code", f->code, "text",
                     text_json(f->text));
}

static struct connection *seat_connection(const struct server_group *p,
                                          const struct server_seat *seat)
{
    return p->generation->ranks[seat->rank].connection;
}

/* Tells all members, or only those that wait for a reply. */
static void broken_send(const struct server_group *p, const struct fault *f, bool only_waiting)
{
    json_t *message = broken_message(p, f);
    char *text = json_dumps(message, JSON_COMPACT);

    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < p->count; i++) {
            const struct server_seat *seat = &p->seats[i];

            if (only_waiting && !seat->blobs && !seat->has_split)
                continue;
            if (!text)
                connection_give_up(seat_connection(p, seat));
            else if (pass == 0)
                connection_cast_add(seat_connection(p, seat));
            else
                connection_cast_send(seat_connection(p, seat), COORD_BROKEN, text, strlen(text));
        }
    }
    free(text);
    json_decref(message);
}

void server_group_break(struct server_group *p, int code, const char *text)
{
    fault_set(&p->broken, code, "%s", text);
    server_group_clear_exchange(p);
    server_group_clear_split(p);
    for (int i = 0; i < p->count; i++)
        server_group_clear_wait(&p->seats[i].wait);
    broken_send(p, &p->broken, false);
}

bool server_group_answers_broken(struct server_group *p, const struct server_seat *seat)
{
    const struct fault *f = p->broken.code ? &p->broken : &p->lost;

    if (!f->code)
        return false;
    connection_send_json(seat_connection(p, seat), COORD_BROKEN, broken_message(p, f));
    return true;
}

void server_group_on_lost(struct generation *g, int rank, const char *text)
{
    creation_on_lost(g, rank, text);
    for (struct server_group *p = g->groups; p; p = p->next) {
        struct server_seat *seat = server_group_seat(p, rank);

        if (!seat)
            continue;
        server_group_clear_wait(&seat->wait);
        if (p->lost.code)
            continue;
        fault_set(&p->lost, ML_ERR_PEER, "%s", text);
        broken_send(p, &p->lost, true);
        server_group_clear_exchange(p);
        server_group_clear_split(p);
    }
}

/* A member that heard of it before the others may have made them fail in another way, by removing
 * what they were about to open. */
static bool has_dead(const struct server_group *p)
{
    for (int i = 0; i < p->count; i++)
        if (p->generation->ranks[p->seats[i].rank].state == RANK_DEAD)
            return p->lost.code != 0;
    return false;
}

int server_group_receive_break(struct server_group *p, struct server_seat *seat, json_t *message,
                               struct fault *why)
{
    json_int_t code;
    const char *text;

    if (json_unpack(message, "{s:I, s:s}", "code", &code, "text", &text) || code >= 0 ||
        code < INT_MIN)
        return fault_set(why, ML_ERR_REFUSED, "its BREAK is malformed");
    if (p->broken.code)
        server_group_answers_broken(p, seat);
    else if (has_dead(p))
        server_group_break(p, p->lost.code, p->lost.text);
    else
        server_group_break(p, (int)code, text);
    return 0;
}

int server_group_receive_free(struct server_group *p, struct server_seat *seat, json_t *message,
                              struct fault *why)
{
    (void)message;
    if (seat->has_freed || p->id == p->generation->world)
        return fault_set(why, ML_ERR_REFUSED, "its FREE is for the world or came twice");
    seat->has_freed = true;
    server_group_clear_wait(&seat->wait);
    if (++p->freed == p->count)
        server_group_destroy(p);
    return 0;
}

/* Passes an object from one member to another, when their own link cannot. */
int server_group_receive_relay(struct server_group *p, struct server_seat *seat, json_t *message,
                               struct fault *why)
{
    struct generation *g = p->generation;
    json_int_t to;
    json_t *word;

    if (json_unpack(message, "{s:I, s:o}", "to", &to, "word", &word) || !json_is_object(word) ||
        to < 0 || to >= g->server->size)
        return fault_set(why, ML_ERR_REFUSED, "its RELAY is malformed");
    if (!server_group_seat(p, (int)to))
        return fault_set(why, ML_ERR_REFUSED, "its RELAY is for rank %d, which is not in the group",
                         (int)to);
    connection_send_json(
        g->ranks[to].connection, COORD_RELAYED,
        json_pack("{s:I, s:i, s:O}", "group", (json_int_t)p->id, "from", seat->rank, "word", word));
    return 0;
}

/* SPDX-License-Identifier: MIT */
/* server_group.c: the world and what split made of it; and the end of a group. */
#include "coordinator/server_state.h"

#include "common/text_json.h"
#include "coordinator/protocol.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct group *group_create(struct generation *g, const int *ranks, int count)
{
    struct group *p = calloc(1, sizeof(*p));

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

void wait_clear(struct wait *w)
{
    free(w->call);
    free(w->signature);
    free(w->peers);
    memset(w, 0, sizeof(*w));
}

void group_clear_exchange(struct group *p)
{
    for (int i = 0; i < p->count; i++) {
        free(p->seats[i].blobs);
        p->seats[i].blobs = NULL;
    }
    p->exchanged = 0;
}

void group_clear_split(struct group *p)
{
    for (int i = 0; i < p->count; i++)
        p->seats[i].has_split = false;
    p->splitted = 0;
}

void group_destroy(struct group *p)
{
    struct group **at = &p->generation->groups;

    while (*at != p)
        at = &(*at)->next;
    *at = p->next;
    group_clear_exchange(p);
    for (int i = 0; i < p->count; i++)
        wait_clear(&p->seats[i].wait);
    free(p->seats);
    free(p);
}

static struct group *group_find(struct generation *g, json_int_t id)
{
    struct group *p = g->groups;

    while (p && p->id != id)
        p = p->next;
    return p;
}

struct seat *group_seat(struct group *p, int rank)
{
    if (rank < p->count && p->seats[rank].rank == rank)
        return &p->seats[rank]; /* as in the world */
    for (int i = 0; i < p->count; i++) {
        if (p->seats[i].rank == rank)
            return &p->seats[i];
    }
    return NULL;
}

struct group *group_of_member(struct member *m, json_int_t id, struct seat **seat)
{
    struct group *p = group_find(m->generation, id);

    *seat = p ? group_seat(p, m->rank) : NULL;
    return *seat ? p : NULL;
}

const char *group_name(const struct group *p, char out[32])
{
    if (p->id == COORD_WORLD)
        return "the world group";
    snprintf(out, 32, "group %u", p->id);
    return out;
}

static json_t *make_broken(const struct group *p, const struct fault *f)
{
    return json_pack("{s:I, s:i, s:o}", "group", (json_int_t)p->id, "code", f->code, "text",
                     text_json(f->text));
}

static struct connection *seat_connection(const struct group *p, int seat)
{
    return p->generation->members[p->seats[seat].rank].connection;
}

void group_break(struct group *p, int code, const char *text)
{
    fault_set(&p->broken, code, "%s", text);
    group_clear_exchange(p);
    group_clear_split(p);
    for (int i = 0; i < p->count; i++) {
        wait_clear(&p->seats[i].wait);
        connection_send_json(seat_connection(p, i), COORD_BROKEN, make_broken(p, &p->broken));
    }
}

bool group_answers_broken(struct group *p, struct member *m)
{
    const struct fault *f = p->broken.code ? &p->broken : &p->lost;

    if (!f->code)
        return false;
    connection_send_json(m->connection, COORD_BROKEN, make_broken(p, f));
    return true;
}

void group_on_lost(struct generation *g, int rank, const char *text)
{
    for (struct group *p = g->groups; p; p = p->next) {
        struct seat *seat = group_seat(p, rank);

        if (!seat)
            continue;
        wait_clear(&seat->wait);
        if (p->lost.code)
            continue;
        fault_set(&p->lost, ML_ERR_PEER, "%s", text);
        for (int i = 0; i < p->count; i++) {
            if (p->seats[i].blobs || p->seats[i].has_split)
                connection_send_json(seat_connection(p, i), COORD_BROKEN, make_broken(p, &p->lost));
        }
        group_clear_exchange(p);
        group_clear_split(p);
    }
}

int group_receive_break(struct member *m, json_t *message, struct fault *why)
{
    json_int_t id, code;
    const char *text;
    struct seat *seat;
    struct group *p;

    if (json_unpack(message, "{s:I, s:I, s:s}", "group", &id, "code", &code, "text", &text) ||
        code >= 0 || code < INT_MIN)
        return fault_set(why, ML_ERR_REFUSED, "its BREAK is malformed");
    p = group_of_member(m, id, &seat);
    if (!p)
        return fault_set(why, ML_ERR_REFUSED, "it breaks a group that it isn't in");
    if (p->broken.code)
        group_answers_broken(p, m);
    else
        group_break(p, (int)code, text);
    return 0;
}

int group_receive_free(struct member *m, json_t *message, struct fault *why)
{
    struct seat *seat;
    struct group *p;
    json_int_t id;

    if (json_unpack(message, "{s:I}", "group", &id))
        return fault_set(why, ML_ERR_REFUSED, "its FREE is malformed");
    p = group_of_member(m, id, &seat);
    if (!p || seat->has_freed || p->id == COORD_WORLD)
        return fault_set(why, ML_ERR_REFUSED, "it frees a group that it isn't in");
    seat->has_freed = true;
    wait_clear(&seat->wait);
    if (++p->freed == p->count)
        group_destroy(p);
    return 0;
}

/* SPDX-License-Identifier: MIT */
/* generation.c: the ranks' n-th claims, which meet each other. */
#include "coordinator/generation.h"

#include "common/net/host_table.h"
#include "common/text/text_json.h"
#include "coordinator/connection_send.h"
#include "coordinator/creation.h"
#include "coordinator/protocol.h"
#include "coordinator/server_group.h"

#include <stdlib.h>
#include <string.h>

struct generation *generation_find(struct server *s, uint32_t number)
{
    struct generation *g = s->generations;

    while (g && g->number != number)
        g = g->next;
    return g;
}

struct generation *generation_create(struct server *s, uint32_t number)
{
    struct generation *g = calloc(1, sizeof(*g));

    if (!g)
        return NULL;
    g->ranks = calloc((size_t)s->most, sizeof(*g->ranks));
    if (!g->ranks) {
        free(g);
        return NULL;
    }
    for (int i = 0; i < s->most; i++) {
        g->ranks[i].generation = g;
        g->ranks[i].rank = i;
    }
    g->server = s;
    g->number = number;
    g->next = s->generations;
    s->generations = g;
    return g;
}

static bool is_told(const struct generation_rank *one, int except)
{
    return one->rank != except && one->state != RANK_LEFT;
}

void generation_send(struct generation *g, uint8_t type, json_t *message, int except)
{
    char *text = json_dumps(message, JSON_COMPACT);
    const struct generation_rank *one, *end = g->ranks + g->server->size;

    for (one = g->ranks; one < end; one++) {
        if (is_told(one, except) && text)
            connection_cast_add(one->connection);
        else if (is_told(one, except))
            connection_give_up(one->connection);
    }
    for (one = g->ranks; one < end && text; one++) {
        if (is_told(one, except))
            connection_cast_send(one->connection, type, text, strlen(text));
    }
    free(text);
    json_decref(message);
}

void generation_refuse(struct connection *c, int code, const char *text)
{
    connection_send_json(c, COORD_FAILED,
                         json_pack("{s:i, s:o}", "code", code, "text", text_json(text)));
}

json_t *generation_welcome(const struct server *s)
{
    return json_pack("{s:i, s:i, s:o, s:o}", "size", s->size, "hosts", s->hosts, "names",
                     host_table_write_texts((const char *const *)s->host_names, s->hosts),
                     "host_of", host_table_write_numbers(s->host_of, s->size));
}

void generation_fail(struct generation *g, int code, const char *text)
{
    if (g->failed.code)
        return;
    fault_set(&g->failed, code, "%s", text);
    limit_clear(&g->limit);
    generation_send(g, COORD_FAILED,
                    json_pack("{s:i, s:o}", "code", code, "text", text_json(g->failed.text)), -1);
    if (!g->server->has_met && g->server->events.on_unmet)
        g->server->events.on_unmet(g->server->events.arg);
}

struct next_world_rank generation_facts(const struct generation_rank *one)
{
    const struct server *s = one->generation->server;
    const struct server_rank *r = &s->ranks[one->rank];

    return (struct next_world_rank){.state = one->state,
                                    .has_repaired = one->has_repaired,
                                    .has_ended = r->has_exited,
                                    .is_open = s->replaces && !r->is_vacant,
                                    .has_newcomer = r->newcomer};
}

bool generation_is_alive(const struct generation_rank *one)
{
    struct next_world_rank facts = generation_facts(one);

    return next_world_is_alive(&facts);
}

bool generation_is_ready(const struct generation_rank *one)
{
    struct next_world_rank facts = generation_facts(one);

    return next_world_is_ready(&facts);
}

bool generation_awaits(const struct generation_rank *one)
{
    return generation_is_alive(one) && !generation_is_ready(one);
}

/* A failed generation is kept, so that ranks that join late get the same answer. */
void generation_release(struct generation *g)
{
    if (!g->is_complete)
        return;
    for (int i = 0; i < g->server->size; i++) {
        if (g->ranks[i].state < RANK_LEFT || g->ranks[i].connection)
            return;
    }
    generation_destroy(g);
}

void generation_destroy(struct generation *g)
{
    struct generation **at = &g->server->generations;

    while (*at != g)
        at = &(*at)->next;
    *at = g->next;
    creation_end_all(g, 0, NULL);
    while (g->groups)
        server_group_destroy(g->groups);
    for (int i = 0; i < g->server->size; i++) {
        if (g->ranks[i].timer)
            event_free(g->ranks[i].timer);
        free(g->ranks[i].abort_text);
    }
    if (g->leavers)
        event_free(g->leavers);
    limit_free(&g->limit);
    limit_free(&g->repair_limit);
    limit_free(&g->place_limit);
    free(g->ranks);
    free(g);
}

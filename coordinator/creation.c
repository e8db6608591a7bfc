/* SPDX-License-Identifier: MIT */
#include "coordinator/creation.h"

#include "common/text/text_json.h"
#include "coordinator/connection_send.h"
#include "coordinator/protocol.h"

#include <stdlib.h>

int creation_place(const struct creation *c, int rank)
{
    for (int i = 0; i < c->count; i++)
        if (c->ranks[i] == rank)
            return i;
    return -1;
}

void creation_free(struct creation *c)
{
    struct creation **at = &c->generation->creations;

    while (*at && *at != c)
        at = &(*at)->next;
    if (*at)
        *at = c->next;
    limit_free(&c->limit);
    free(c->ranks);
    free(c->has_come);
    free(c);
}

void creation_refuse(const struct generation_rank *one, json_int_t parent, int code,
                     const char *text)
{
    connection_send_json(
        one->connection, COORD_CREATED,
        json_pack("{s:I, s:i, s:o}", "group", parent, "code", code, "text", text_json(text)));
}

void creation_fail(struct creation *c, int code, const char *text)
{
    for (int i = 0; i < c->count; i++)
        if (c->has_come[i])
            creation_refuse(&c->generation->ranks[c->ranks[i]], c->parent, code, text);
    creation_free(c);
}

void creation_end_all(struct generation *g, int code, const char *text)
{
    while (g->creations && code)
        creation_fail(g->creations, code, text);
    while (g->creations)
        creation_free(g->creations);
}

void creation_on_lost(struct generation *g, int rank, const char *text)
{
    for (struct creation *next, *c = g->creations; c; c = next) {
        next = c->next;
        if (creation_place(c, rank) >= 0)
            creation_fail(c, ML_ERR_PEER, text);
    }
}

/* SPDX-License-Identifier: MIT */
#include "launcher/run/record/record_file.h"

#include "common/text/text_json.h"
#include "launcher/run/record/call_words.h"

#include <inttypes.h>
#include <jansson.h>

static void number_add(json_t *line, const char *name, uint64_t value)
{
    json_object_set_new(line, name, json_integer((json_int_t)(value & INT64_MAX)));
}

static void rank_add(json_t *line, const char *name, int32_t rank)
{
    if (rank >= 0)
        json_object_set_new(line, name, json_integer(rank));
    else if (rank == RANK_CALL_ANY)
        json_object_set_new(line, name, json_string("any"));
}

static void message_add(json_t *line, const struct rank_call *c)
{
    rank_add(line, "to", c->to);
    rank_add(line, "from", c->from);
    if (c->seq == (uint32_t)RANK_CALL_ANY_TAG)
        json_object_set_new(line, "tag", json_string("any"));
    else if (c->seq)
        number_add(line, "tag", c->seq - 1);
    if (c->to != RANK_CALL_NOBODY)
        number_add(line, "sent", c->count);
    if (c->from != RANK_CALL_NOBODY)
        number_add(line, "received", c->received);
}

static void collective_add(json_t *line, const struct rank_call *c)
{
    const char *type = call_words_type(c), *op = call_words_op(c);

    number_add(line, "call", c->seq);
    number_add(line, "bytes", call_words_bytes(c));
    if (type)
        json_object_set_new(line, "type", json_string(type));
    if (op)
        json_object_set_new(line, "op", json_string(op));
    rank_add(line, "root", c->to);
}

static json_t *call_json(const struct rank_call *c, int rank, const char *host, int restart)
{
    json_t *line =
        json_pack("{s:i, s:o, s:s, s:I, s:i, s:I}", "rank", rank, "host", text_json(host), "name",
                  call_words_name(c), "number", (json_int_t)c->number, "generation",
                  (int)c->generation, "group", (json_int_t)c->group);

    if (restart)
        json_object_set_new(line, "restart", json_integer(restart));
    if (c->kind == RANK_CALL_MESSAGE)
        message_add(line, c);
    else
        collective_add(line, c);
    number_add(line, "start_ns", c->start);
    if (c->end)
        number_add(line, "end_ns", c->end);
    if (c->failed)
        json_object_set_new(line, "failed", json_true());
    return line;
}

void record_file_write(FILE *f, int rank, const char *host, int restart,
                       const struct rank_call *calls, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        json_t *line = call_json(&calls[i], rank, host, restart);

        if (line)
            json_dumpf(line, f, JSON_COMPACT);
        fputc('\n', f);
        json_decref(line);
    }
}

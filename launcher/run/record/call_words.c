/* SPDX-License-Identifier: MIT */
#include "launcher/run/record/call_words.h"

#include "common/log.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* In the order of enum ml_type. */
static const struct {
    const char *name;
    unsigned size;
} types[] = {{"bool", 1},     {"int8", 1},    {"int16", 2},   {"int32", 4},    {"int64", 8},
             {"uint8", 1},    {"uint16", 2},  {"uint32", 4},  {"uint64", 8},   {"float16", 2},
             {"bfloat16", 2}, {"float32", 4}, {"float64", 8}, {"complex64", 8}};

static const char *const ops[] = {"sum", "prod", "min", "max", "and", "or", "xor"};

enum { TYPES = sizeof(types) / sizeof(*types), OPS = sizeof(ops) / sizeof(*ops) };

const char *call_words_name(const struct rank_call *c)
{
    if (call_words_is_probe(c))
        return "probe";
    if (c->kind == RANK_CALL_MESSAGE && c->from == RANK_CALL_NOBODY)
        return "send";
    if (c->kind == RANK_CALL_MESSAGE)
        return c->to == RANK_CALL_NOBODY ? "receive" : "sendrecv";
    return call_kind_known(c->kind) ? call_names[c->kind] : "call";
}

static bool has_trait(const struct rank_call *c, unsigned wanted)
{
    return call_kind_has(call_kind_known(c->kind), wanted);
}

const char *call_words_type(const struct rank_call *c)
{
    return has_trait(c, CALL_REDUCES) && c->type < TYPES ? types[c->type].name : NULL;
}

const char *call_words_op(const struct rank_call *c)
{
    return call_words_type(c) && c->op < OPS ? ops[c->op] : NULL;
}

uint64_t call_words_bytes(const struct rank_call *c)
{
    return call_words_type(c) ? c->count * types[c->type].size : c->count;
}

bool call_words_fit(const struct rank_call *a, const struct rank_call *b)
{
    return a->kind == b->kind && a->count == b->count && a->to == b->to &&
           (!has_trait(a, CALL_REDUCES) || (a->type == b->type && a->op == b->op));
}

static const char *peer_text(const struct rank_call *c, char *text, size_t size)
{
    text[0] = '\0';
    if (c->to != RANK_CALL_NOBODY)
        snprintf(text, size, " %s rank %d", has_trait(c, CALL_FROM_ROOT) ? "from" : "to",
                 (int)c->to);
    else if (c->from >= 0)
        snprintf(text, size, " from rank %d", (int)c->from);
    else if (c->from == RANK_CALL_ANY)
        snprintf(text, size, " from any rank");
    return text;
}

const char *call_words_describe(const struct rank_call *c, char text[CALL_WORDS])
{
    const char *type = call_words_type(c), *op = call_words_op(c), *name = call_words_name(c);
    uint64_t count = strcmp(name, "receive") == 0 ? c->received : c->count;
    char peer[40];

    peer_text(c, peer, sizeof(peer));
    if (type && op)
        snprintf(text, CALL_WORDS, "%s of %" PRIu64 " %s (%s)%s", name, count, type, op, peer);
    else if (count)
        snprintf(text, CALL_WORDS, "%s of %" PRIu64 " bytes%s", name, count, peer);
    else
        snprintf(text, CALL_WORDS, "%s%s", name, peer);
    return text;
}

void call_words_warn_of_none(const char *path)
{
    log_warn("no rank made a call of mlaunch's library (MPI's and gloo's calls are not seen): %s "
             "is empty",
             path);
}

/* SPDX-License-Identifier: MIT */
#include "runtime/call/call.h"

#include "runtime/call/call_probe.h"
#include "runtime/call/call_record.h"
#include "runtime/group/coord_events.h"
#include "runtime/group/wait.h"
#include "runtime/group/world.h"
#include "runtime/kernel/reduce_op.h"
#include "runtime/process/claim.h"
#include "runtime/process/counters_file.h"

/* From now on every call on g fails with `why`. The file that claim_mark_broken() writes tells the
 * agent that this rank fails only because a peer has, so that it reports the cause first. */
static void call_break(struct group *g, const struct fault *why)
{
    g->broken = *why;
    if (why->code == ML_ERR_PEER && g->world->is_launched)
        claim_mark_broken(g->world->dir, g->world->rank, why->text);
}

/* Adds a call to the digest of the group's collective calls, and returns what messages carry of it.
 * In some calls a rank only sends, and its peer may expect nothing: when two ranks broadcast as
 * roots, for instance. Because the digest differs from then on, the next message notices it. Two
 * roots never have one digest: the factor is odd, so it maps the words one to one. The types of
 * what is moved are left out, because bytes fit every type; some receiver compares them. */
static uint32_t call_note(struct group *g, const struct call *c)
{
    const uint64_t factor = 0x9e3779b97f4a7c15; /* 2^64 / golden ratio: its bits are mixed */
    uint64_t type = call_kind_has(c->kind, CALL_REDUCES) ? c->type : 0;
    uint64_t what = c->kind | type << 8 | (uint64_t)c->op << 16 | (uint64_t)(uint32_t)c->root << 32;
    uint64_t h = (((g->history ^ c->count) * factor) ^ what) * factor;

    g->history = h ^ h >> 32;
    return (uint32_t)g->history;
}

static uint64_t call_bytes(const struct call *c)
{
    if (!call_kind_has(c->kind, CALL_REDUCES))
        return c->count;
    return c->type == CALL_OPERATOR ? call_elements_bytes(c->count, c->op)
                                    : c->count * reduce_type_size(c->type);
}

static void call_count(const struct group *g, const struct call *c)
{
    struct call_counters *counters;

    if (!g->world->counters)
        return;
    counters = &g->world->counters->calls[c->kind];
    rank_counters_add(&counters->count, 1);
    if (c->count)
        rank_counters_add(&counters->bytes, call_bytes(c));
}

int call_begin(struct group *g, enum call_kind kind, const char *name, uint64_t count, int type,
               int op, int root, struct fault *why)
{
    int rc;

    g->call = (struct call){.count = count,
                            .seq = kind == CALL_SEND ? 0 : ++g->calls,
                            .kind = (uint8_t)kind,
                            .type = (uint8_t)type,
                            .op = (uint8_t)op,
                            .root = root};
    if (kind != CALL_SEND)
        g->call.history = call_note(g, &g->call);
    g->words.name = name;
    g->words.algorithm = NULL;
    g->words.site = NULL; /* the caller sets it, if it knows it */
    g->records.now = (struct recorded){0};
    if (g->broken.code) {
        *why = g->broken;
        return why->code;
    }
    call_probe_begin(g);
    g->records.now = call_record_begin(g);
    call_count(g, &g->call);
    rc = wait_read_news(g, why);
    if (rc) {
        call_record_end(g->records.now, g, rc);
        call_probe_end(g, rc);
        call_break(g, why);
    }
    return rc;
}

/* A call of a kind that has algorithms, if none was needed. */
static void call_count_simple(const struct group *g)
{
    if (!g->words.algorithm && call_kind_has(g->call.kind, CALL_HAS_CHOICE) && g->world->counters)
        rank_counters_add(&g->world->counters->calls[g->call.kind].algorithms[0], 1);
}

int call_end(struct group *g, int code, struct fault *why)
{
    wait_over(g);
    if (g->waiting.call_wait_ns >= RANK_COUNTERS_LONG && g == g->world->group &&
        call_kind_has(g->call.kind, CALL_FOR_ALL))
        rank_counters_add(&g->world->counters->kept_waiting, 1);
    g->waiting.call_wait_ns = 0;
    call_count_simple(g);
    call_record_end(g->records.now, g, code);
    call_probe_end(g, code);
    if (code != 0 && code != ML_ERR_ARGUMENT)
        call_fail(g, why);
    return code;
}

void call_fail(struct group *g, const struct fault *why)
{
    if (g->broken.code)
        return;
    call_break(g, why);
    /* The coordinator already knows if it was the source of the news. */
    if (!coord_events_broken(g->world->coord_events, g, NULL))
        coord_events_break(g->world->coord_events, g, why);
}

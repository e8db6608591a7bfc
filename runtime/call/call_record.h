/* SPDX-License-Identifier: MIT */
/*
 * call_record.h: the record of a call (common/rank_calls.h) while it is under way. A record
 * may be written over meanwhile, by a later call on another group or thread; then what is known
 * later of the earlier call is dropped. The agent reads records once the process has ended, so
 * their order in the program is enough, and fences are for the compiler alone.
 */
#ifndef RUNTIME_CALL_CALL_RECORD_H
#define RUNTIME_CALL_CALL_RECORD_H

#include "config.h"

#include "runtime/group/group.h"
#include "runtime/group/world.h"
#include "runtime/process/calls_file.h"

#include <pthread.h>

enum {
    CALL_RECORD_SHORT = 1024 /* elements or bytes; for this many the work takes longer than reading
                              * the time */
};

/* Two threads may write one record: what is torn then is dropped. */
#ifdef SANITIZE
#define CALL_RECORD_RACES __attribute__((no_sanitize("thread")))
#else
#define CALL_RECORD_RACES
#endif

static inline CALL_RECORD_RACES bool call_record_is_kept(struct recorded r)
{
    return r.at && r.at->number == r.number;
}

/* The number of the next record, which is kept for this group unless later records have taken its
 * place since. Taking one each time would cost an atomic operation. */
static inline uint64_t call_record_take(struct group *g, struct calls_file *c)
{
    _Atomic uint64_t *taken = &c->file->taken;

    if (g->records.next >= g->records.past ||
        atomic_load_explicit(taken, memory_order_relaxed) - g->records.next > RANK_CALLS_LAST / 2) {
        g->records.next = atomic_fetch_add_explicit(taken, RANK_CALLS_BLOCK, memory_order_relaxed);
        g->records.past = g->records.next + RANK_CALLS_BLOCK;
    }
    return g->records.next++;
}

/* Begins a record of g->call. It is whole from the moment on in which it has its number: the
 * process may be killed at any time. */
static inline CALL_RECORD_RACES struct recorded call_record_begin(struct group *g)
{
    struct calls_file *c = g->world->calls;
    const struct call *call = &g->call;
    struct rank_call *r;
    uint64_t n;

    if (!c)
        return (struct recorded){0};
    n = call_record_take(g, c);
    if (__builtin_expect(n >= atomic_load_explicit(&c->limit, memory_order_acquire), 0) &&
        !calls_file_grow(c, n))
        return (struct recorded){0};
    r = &c->file->calls[n & c->mask];
    r->number = 0;
    atomic_signal_fence(memory_order_seq_cst);
    r->start = calls_file_ticks(c);
    r->end = 0;
    r->count = __builtin_expect(call->type == CALL_OPERATOR, 0)
                   ? call_elements_bytes(call->count, call->op)
                   : call->count;
    r->received = 0;
    r->seq = call->seq;
    r->group = g->id;
    r->thread = (uint32_t)((uintptr_t)pthread_self() >> 6);
    r->to = call->root < 0 ? RANK_CALL_NOBODY : g->members[call->root];
    r->from = RANK_CALL_NOBODY;
    r->kind = call->kind;
    r->type = call->type;
    r->op = call->op;
    r->failed = 0;
    r->generation = c->generation;
    atomic_signal_fence(memory_order_seq_cst);
    r->number = (uint32_t)(n + 1);
    g->waiting.has_waited = false;
    return (struct recorded){r, (uint32_t)(n + 1)};
}

/* To read the time is most of what a record costs. So a call that is short, and has not waited,
 * ends when it began, unless all calls are kept. */
static inline CALL_RECORD_RACES void call_record_end(struct recorded r, const struct group *g,
                                                     int code)
{
    const struct calls_file *c = g->world->calls;

    if (!call_record_is_kept(r))
        return;
    r.at->failed = code != 0;
    if (g->waiting.has_waited || code || c->keeps_times ||
        r.at->count + r.at->received >= CALL_RECORD_SHORT)
        r.at->end = calls_file_ticks(c);
    else
        r.at->end = r.at->start;
}

#endif

/* SPDX-License-Identifier: MIT */
#include "runtime/call/task_run.h"

#include "runtime/call/call.h"
#include "runtime/call/call_record.h"
#include "runtime/call/task_hash.h"
#include "runtime/call/task_pieces.h"
#include "runtime/collective/collectives.h"
#include "runtime/group/matching.h"
#include "runtime/group/message_op.h"
#include "runtime/group/wait.h"
#include "runtime/kernel/combiner.h"

#include <string.h>

/* Waits for a message with a tag, while nothing else is under way. */
static int task_match(struct group *g, struct tagged_receive *r, struct fault *why)
{
    struct waiting w = {0};
    int rc = matching_post(g, r, why);

    while (rc >= 0 && !matching_is_done(g, r)) {
        rc = matching_listen(g, why);
        if (!rc)
            rc = message_op_step(g, &w, why);
        if (rc >= 0)
            rc = r->tries ? wait_check(g, why) : matching_check(g, r, why);
    }
    if (rc == ML_ERR_ARGUMENT) {
        matching_withdraw(g, r);
    } else if (rc < 0) {
        message_op_drop(g);
        matching_drop(g);
    }
    return rc < 0 ? rc : 0;
}

/* Apart, so that messages without a tag need not make room for a receive on the stack. */
static __attribute__((noinline)) int task_exchange_tagged(struct group *g, const struct task *t,
                                                          struct fault *why)
{
    struct tagged_receive r = {.found = {ML_NOBODY, ML_ANY, 0}};
    struct message_op give;
    int rc = 0;

    if (task_receives_tag(t)) {
        r = task_receive(t);
        rc = task_match(g, &r, why);
    } else if (task_message_ops(t, t->in, &give)) {
        rc =
            t->to == g->rank ? matching_send_self(g, &give, why) : message_op_run(g, &give, 1, why);
    }
    task_record_found(g->records.now, g, &r);
    if (!rc)
        task_report(t, &r);
    return rc;
}

static int task_exchange(struct group *g, const struct task *t, struct fault *why)
{
    struct message_op ops[2];
    const void *in = t->in;

    if (task_is_in_place(t)) {
        void *copy = group_scratch(g, t->count);

        if (!copy)
            return fault_set(why, ML_ERR_MEMORY, "out of memory");
        in = memcpy(copy, in, t->count);
    }
    return message_op_run(g, ops, task_message_ops(t, in, ops), why);
}

static inline __attribute__((always_inline)) int
task_carry_out(struct group *g, const struct task *t, struct fault *why)
{
    switch (t->kind) {
    case CALL_ALL_REDUCE:
        return all_reduce_run(g, t->in, t->out, task_size(t), why);
    case CALL_REDUCE_SCATTER:
        return reduce_scatter_run(g, t->in, t->out, task_size(t), why);
    case CALL_REDUCE:
        return reduce_run(g, t->in, t->out, task_size(t), t->root, why);
    case CALL_SCAN:
        return scan_run(g, t->in, t->out, task_size(t), why);
    case CALL_EXCLUSIVE_SCAN:
        return exclusive_scan_run(g, t->in, t->out, task_size(t), why);
    case CALL_ALL_GATHER:
        return all_gather_run(g, t->in, t->out, t->count, why);
    case CALL_ALL_TO_ALL:
        return all_to_all_run(g, t->in, t->out, t->count, why);
    case CALL_ALL_GATHER_V:
        return all_gather_v_run(g, t->in, t->out, t->shares->out_sizes, t->shares->out_offsets,
                                why);
    case CALL_ALL_TO_ALL_V:
        return all_to_all_v_run(g, t->in, t->shares->in_sizes, t->shares->in_offsets, t->out,
                                t->shares->out_sizes, t->shares->out_offsets, why);
    case CALL_BROADCAST:
        return broadcast_run(g, t->out, t->count, t->root, why);
    case CALL_GATHER:
        return gather_run(g, t->in, t->out, t->count, t->root, why);
    case CALL_SCATTER:
        return scatter_run(g, t->in, t->out, t->count, t->root, why);
    case CALL_SEND:
        return t->tagged ? task_exchange_tagged(g, t, why) : task_exchange(g, t, why);
    default:
        return barrier_run(g, why);
    }
}

/* What struct call has as its count. */
static uint64_t task_call_count(const struct group *g, const struct task *t)
{
    uint64_t all = 0;

    if (t->kind != CALL_ALL_GATHER_V)
        return t->kind == CALL_SEND ? 0 : t->count;
    for (int r = 0; r < g->size; r++)
        all += t->shares->out_sizes[r];
    return all;
}

/* As call_begin, for a reduction by an operator of the program. */
static __attribute__((noinline)) int task_begin_with(struct group *g, const struct task *t,
                                                     struct fault *why)
{
    struct call_elements e = {t->count, t->with->size, t->with->is_commutative != 0};
    uint8_t op;
    uint64_t count = call_elements_pack(e, &op);
    int rc = call_begin(g, t->kind, t->name, count, CALL_OPERATOR, op, t->root, why);

    if (rc)
        return rc;
    g->call.combiner = combiner_create(t->with, g->size);
    if (g->call.combiner)
        return 0;
    fault_set(why, ML_ERR_MEMORY, "%s: out of memory: no %zu bytes for an element of each rank",
              t->name, t->with->size * (size_t)g->size);
    return call_end(g, ML_ERR_MEMORY, why);
}

static inline __attribute__((always_inline)) int task_begin(struct group *g, const struct task *t,
                                                            struct fault *why)
{
    int type = call_kind_has(t->kind, CALL_REDUCES) ? (int)t->type : t->content;

    if (__builtin_expect(t->with != NULL, 0))
        return task_begin_with(g, t, why);
    return call_begin(g, t->kind, t->name, task_call_count(g, t), type, (int)t->op, t->root, why);
}

static int task_carry_out_piece(struct group *g, const struct task *t, struct fault *why)
{
    return task_carry_out(g, t, why);
}

/* Twice in the program, so that the usual call is one function. */
static inline __attribute__((always_inline)) int
task_run_plain(struct group *g, const struct task *t, bool may_cut, struct fault *why)
{
    int rc = task_begin(g, t, why);

    g->words.site = t->site;
    if (t->kind == CALL_SEND)
        task_record(g->records.now, g, t);
    if (rc)
        return rc;
    rc = may_cut && task_pieces_fit(g, t) ? task_pieces_run(g, t, task_carry_out_piece, why)
                                          : task_carry_out(g, t, why);
    if (__builtin_expect(t->with != NULL, 0)) {
        combiner_destroy(g->call.combiner);
        g->call.combiner = NULL;
    }
    return call_end(g, rc, why);
}

/* Apart, because it is rare. */
static __attribute__((noinline, cold)) int task_run_apart(struct group *g, const struct task *t,
                                                          struct fault *why)
{
    bool is_hashed = task_hash_is_wanted(g);
    uint32_t read = is_hashed ? task_hash_read(g, t) : 0;
    int rc = task_run_plain(g, t, true, why);

    if (!rc && is_hashed)
        task_hash_note(g->records.now, g, t, read);
    return rc;
}

int task_run(struct group *g, const struct task *t, struct fault *why)
{
    return __builtin_expect(g->runs_apart, 0) ? task_run_apart(g, t, why)
                                              : task_run_plain(g, t, false, why);
}

/* SPDX-License-Identifier: MIT */
#include "runtime/call/task.h"

#include "runtime/call/call.h"
#include "runtime/call/call_record.h"
#include "runtime/call/check.h"
#include "runtime/call/task_hash.h"
#include "runtime/collective/collectives.h"
#include "runtime/group/matching.h"
#include "runtime/group/message_op.h"
#include "runtime/group/wait.h"
#include "runtime/kernel/combiner.h"

#include <string.h>

/* --- arguments ---------------------------------------------------------------------------------
 */

/* Shares of one size: `count` elements, or bytes. */
static __attribute__((noinline)) int task_check_even(const struct group *g, const struct task *t,
                                                     unsigned traits, struct fault *why)
{
    size_t blocks = traits & (CALL_READS_ALL | CALL_WRITES_ALL) ? (size_t)g->size : 1;
    size_t share = t->count, mine = SIZE_MAX;
    struct task_sizes sizes;
    int rc;

    if (t->with)
        rc = check_operator(t->count, t->with, blocks, &share, why);
    else if (traits & CALL_REDUCES)
        rc = check_reduction(t->count, t->type, t->op, blocks, &share, why);
    else
        rc = check_blocks(blocks, share, why);
    if (!rc && traits & CALL_HAS_ROOT)
        rc = check_rank(g, t->root, "root", why);
    if (rc)
        return rc;
    if (traits & CALL_IN_PLACE)
        return check_buffer(t->out, share, "buf", why);
    sizes = task_sizes(g, t, share);
    if (traits & CALL_IN_OUT)
        mine = share * (size_t)g->rank;
    return check_buffers(t->in, t->out, sizes.in, sizes.out, mine, why);
}

static int task_check_all_gather_v(const struct group *g, const struct task *t, struct fault *why)
{
    const size_t *sizes = t->shares->out_sizes, *offsets = t->shares->out_offsets;
    size_t end, mine = 0;
    int rc = check_shares(g->size, sizes, offsets, true, "sizes", &end, why);

    if (rc)
        return rc;
    for (int r = 0; r < g->rank && !offsets; r++)
        mine += sizes[r];
    return check_buffers(t->in, t->out, sizes[g->rank], end, offsets ? offsets[g->rank] : mine,
                         why);
}

static int task_check_all_to_all_v(const struct group *g, const struct task *t, struct fault *why)
{
    const struct task_shares *s = t->shares;
    size_t in_end, out_end;
    int rc = check_shares(g->size, s->in_sizes, s->in_offsets, false, "in_sizes", &in_end, why);

    if (!rc)
        rc = check_shares(g->size, s->out_sizes, s->out_offsets, true, "out_sizes", &out_end, why);
    if (rc)
        return rc;
    if (s->in_sizes[g->rank] != s->out_sizes[g->rank])
        return fault_set(why, ML_ERR_ARGUMENT,
                         "rank %d sends itself a block of %zu bytes, but receives one of %zu",
                         g->rank, s->in_sizes[g->rank], s->out_sizes[g->rank]);
    return check_buffers(t->in, t->out, in_end, out_end, SIZE_MAX, why);
}

static int task_check_peer(const struct group *g, int peer, const void *buf, size_t size,
                           const char *what, struct fault *why)
{
    int rc;

    if (peer == ML_NOBODY)
        return 0;
    rc = check_rank(g, peer, what, why);
    if (!rc)
        rc = check_blocks(1, size, why);
    return rc ? rc : check_buffer(buf, size, what, why);
}

static __attribute__((noinline)) int task_check_tagged(const struct group *g, const struct task *t,
                                                       struct fault *why)
{
    int rc = task_check_peer(g, t->to, t->in, t->count, "to", why);

    if (!rc)
        rc = t->from == ML_ANY ? check_buffer(t->out, t->out_size, "buf", why)
                               : task_check_peer(g, t->from, t->out, t->out_size, "from", why);
    if (rc)
        return rc;
    if (t->tag < 0 && (t->tag != ML_ANY || t->to != ML_NOBODY))
        return fault_set(why, ML_ERR_ARGUMENT, "tag is %d, but tags are 0 and more", t->tag);
    if (t->tagged == TAGGED_TRY && !t->found)
        return fault_set(why, ML_ERR_ARGUMENT, "found is NULL");
    return 0;
}

static int task_check_message(const struct group *g, const struct task *t, struct fault *why)
{
    int rc = task_check_peer(g, t->to, t->in, t->count, "to", why);

    if (!rc)
        rc = task_check_peer(g, t->from, t->out, t->out_size, "from", why);
    if (!rc && t->to != ML_NOBODY && t->from != ML_NOBODY)
        rc = check_overlap(t->in, t->count, t->out, t->out_size, SIZE_MAX, why);
    return rc;
}

/* Shares that have sizes of their own. */
static __attribute__((noinline)) int task_check_varied(const struct group *g, const struct task *t,
                                                       struct fault *why)
{
    return t->kind == CALL_ALL_GATHER_V ? task_check_all_gather_v(g, t, why)
                                        : task_check_all_to_all_v(g, t, why);
}

int task_check(const struct group *g, const struct task *t, struct fault *why)
{
    unsigned traits;
    int rc = check_group(g, why);

    if (rc)
        return rc;
    traits = call_traits[t->kind];
    if (!(traits & CALL_MOVES))
        return 0;
    if (t->kind == CALL_SEND)
        return t->tagged ? task_check_tagged(g, t, why) : task_check_message(g, t, why);
    return traits & CALL_VARIES ? task_check_varied(g, t, why) : task_check_even(g, t, traits, why);
}

/* --- its record ------------------------------------------------------------------------------
 */

static int32_t task_record_rank(const struct group *g, int rank)
{
    return rank >= 0 ? g->members[rank] : rank == ML_ANY ? RANK_CALL_ANY : RANK_CALL_NOBODY;
}

void task_record(struct recorded r, const struct group *g, const struct task *t)
{
    if (!call_record_is_kept(r))
        return;
    r.at->to = task_record_rank(g, t->to);
    r.at->from = task_record_rank(g, t->from);
    r.at->op = t->tagged > TAGGED_MESSAGE;
    r.at->count = t->to == ML_NOBODY ? 0 : t->count;
    r.at->received = t->from == ML_NOBODY ? 0 : t->out_size;
    r.at->seq = !t->tagged         ? 0
                : t->tag == ML_ANY ? (uint32_t)RANK_CALL_ANY_TAG
                                   : (uint32_t)t->tag + 1;
}

void task_record_found(struct recorded r, const struct group *g, const struct tagged_receive *t)
{
    if (!call_record_is_kept(r) || !t->is_matched)
        return;
    r.at->from = task_record_rank(g, t->found.from);
    r.at->seq = (uint32_t)t->found.tag + 1;
    r.at->received = t->probes ? 0 : t->found.size;
}

/* --- running -----------------------------------------------------------------------------------
 */

int task_message_ops(const struct task *t, const void *in, struct message_op *ops)
{
    int n = 0;

    if (t->to != ML_NOBODY)
        ops[n++] = (struct message_op){.what = MESSAGE_OP_SEND,
                                       .peer = t->to,
                                       .buf = (void *)(uintptr_t)in,
                                       .size = t->count,
                                       .content = t->content,
                                       .tag = t->tagged ? 1 + (uint32_t)t->tag : 0};
    if (t->from != ML_NOBODY && !t->tagged)
        ops[n++] = (struct message_op){.what = MESSAGE_OP_RECV,
                                       .peer = t->from,
                                       .buf = t->out,
                                       .size = t->out_size,
                                       .content = t->content};
    return n;
}

struct tagged_receive task_receive(const struct task *t)
{
    return (struct tagged_receive){.from = t->from,
                                   .tag = t->tag,
                                   .buf = t->out,
                                   .size = t->out_size,
                                   .content = t->content,
                                   .probes = t->tagged != TAGGED_MESSAGE,
                                   .tries = t->tagged == TAGGED_TRY};
}

void task_report(const struct task *t, const struct tagged_receive *r)
{
    if (t->status)
        *t->status = r->found;
    if (t->found)
        *t->found = r->is_matched;
}

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
    task_record_found(g->recorded, g, &r);
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

/* Twice in the program, so that the usual call is one function. */
static inline __attribute__((always_inline)) int
task_run_plain(struct group *g, const struct task *t, struct fault *why)
{
    int rc = task_begin(g, t, why);

    g->call_site = t->site;
    if (t->kind == CALL_SEND)
        task_record(g->recorded, g, t);
    if (rc)
        return rc;
    rc = task_carry_out(g, t, why);
    if (__builtin_expect(t->with != NULL, 0)) {
        combiner_destroy(g->call.combiner);
        g->call.combiner = NULL;
    }
    return call_end(g, rc, why);
}

/* Apart, because it is rare. */
static __attribute__((noinline, cold)) int task_run_hashed(struct group *g, const struct task *t,
                                                           struct fault *why)
{
    uint32_t read = task_hash_read(g, t);
    int rc = task_run_plain(g, t, why);

    if (!rc)
        task_hash_note(g->recorded, g, t, read);
    return rc;
}

int task_run(struct group *g, const struct task *t, struct fault *why)
{
    return __builtin_expect(task_hash_is_wanted(g), 0) ? task_run_hashed(g, t, why)
                                                       : task_run_plain(g, t, why);
}

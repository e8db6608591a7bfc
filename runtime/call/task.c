/* SPDX-License-Identifier: MIT */
#include "runtime/call/task.h"

#include "runtime/call/call.h"
#include "runtime/call/call_record.h"
#include "runtime/call/check.h"
#include "runtime/group/matching.h"
#include "runtime/group/message_op.h"

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
    unsigned traits = call_traits[t->kind];

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

CALL_RECORD_RACES void task_record(struct recorded r, const struct group *g, const struct task *t)
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

CALL_RECORD_RACES void task_record_found(struct recorded r, const struct group *g,
                                         const struct tagged_receive *t)
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
                                       .tag = t->tagged ? 1 + (uint32_t)t->tag : 0,
                                       .gpu = t->in_gpu};
    if (t->from != ML_NOBODY && !t->tagged)
        ops[n++] = (struct message_op){.what = MESSAGE_OP_RECV,
                                       .peer = t->from,
                                       .buf = t->out,
                                       .size = t->out_size,
                                       .content = t->content,
                                       .gpu = t->out_gpu};
    return n;
}

struct tagged_receive task_receive(const struct task *t)
{
    return (struct tagged_receive){.from = t->from,
                                   .tag = t->tag,
                                   .buf = t->out,
                                   .size = t->out_size,
                                   .gpu = t->out_gpu,
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

/* SPDX-License-Identifier: MIT */
/*
 * task.h: a call of mlaunch.h on a group, as data: the shim makes it from the arguments, task_check
 * checks it once, and it is carried out at once by the calling thread (task_run.h), or later by the
 * thread that works on what was started (progress.h).
 */
#ifndef RUNTIME_CALL_TASK_H
#define RUNTIME_CALL_TASK_H

#include "runtime/group/group.h"
#include "runtime/kernel/reduce_op.h"

struct gpu_buffer;
struct tagged_receive;
struct message_op;
struct task_stage;

/* Which kind of message with a tag a CALL_SEND is. */
enum task_tagged { TAGGED_NOT, TAGGED_MESSAGE, TAGGED_PROBE, TAGGED_TRY };

/* Sizes and offsets of each rank's block, in bytes; offsets may be NULL. An all_gather_v has only
 * those of `out`. */
struct task_shares {
    const size_t *in_sizes, *in_offsets;
    const size_t *out_sizes, *out_offsets;
};

struct task {
    enum call_kind kind;
    const char *name; /* "all_reduce", for sentences; a literal */
    const void *in;   /* what is read */
    void *out;        /* what is written; a broadcast's buffer */
    size_t count;     /* elements, or bytes of a share */
    uint8_t content;  /* what a call that is no reduction moves: 1 + ml_type, or 0 for bytes */
    const char *site; /* where in the program the call is, or NULL */
    void *stream;     /* where the program works on GPU memory (ml_next_stream); NULL: anywhere */
    ml_type type;
    ml_op op;
    const ml_operator *with;          /* for a reduction, in place of type and op; or NULL */
    int root;                         /* or -1 */
    const struct task_shares *shares; /* for an all_gather_v or all_to_all_v */
    /* CALL_SEND, which is send, recv and sendrecv: sends `count` bytes of `in` to rank `to`, and
     * receives `out_size` bytes from rank `from`. ML_NOBODY: does not. */
    int to;
    int from;
    size_t out_size;
    /* If it is tagged, only one of `to` and `from` is a rank, and `from` may be ML_ANY. */
    enum task_tagged tagged;
    int tag;
    ml_status *status;                   /* or NULL */
    int *found;                          /* for a probe that does not wait */
    struct gpu_buffer *in_gpu, *out_gpu; /* what a message moves in place of `in` and `out`, if its
                                          * link takes that, or a call that may be cut
                                          * (task_pieces.h); or NULL */
    struct task_stage *stage; /* what a started call with buffers on a GPU owns; or NULL */
};

/* The bytes of a reduction's vector, or of a share of it. */
static inline size_t task_size(const struct task *t)
{
    return t->count * (t->with ? t->with->size : reduce_type_size((int)t->type));
}

/* How many bytes this rank reads and writes in a collective call whose shares have all `share`
 * bytes. */
struct task_sizes {
    size_t in, out;
};
static inline struct task_sizes task_sizes(const struct group *g, const struct task *t,
                                           size_t share)
{
    unsigned traits = call_traits[t->kind];
    size_t all = share * (size_t)g->size;
    struct task_sizes s = {traits & CALL_READS_ALL ? all : share,
                           traits & CALL_WRITES_ALL ? all : share};

    if (!(traits & (CALL_HAS_ROOT | CALL_ORDERS)))
        return s;
    if (traits & CALL_ORDERS ? g->rank == g->size - 1
                             : traits & CALL_FROM_ROOT && g->rank != t->root)
        s.in = 0;
    if (traits & CALL_ORDERS ? g->rank == 0 : traits & CALL_TO_ROOT && g->rank != t->root)
        s.out = 0;
    return s;
}

/* Checks the arguments before anything is sent. ML_ERR_ARGUMENT; the group is unharmed. */
int task_check(const struct group *g, const struct task *t, struct fault *why);

/* Fills in the transfers (room for 2) of a CALL_SEND whose bytes are at `in`: none of a receive by
 * tag. Returns how many. */
int task_message_ops(const struct task *t, const void *in, struct message_op *ops);

/* True if it is a receive by tag, or a probe; what matching.h needs to know of it; and what the
 * program is to know once that is done. */
static inline bool task_receives_tag(const struct task *t)
{
    return t->tagged && t->to == ML_NOBODY && t->from != ML_NOBODY;
}
struct tagged_receive task_receive(const struct task *t);
void task_report(const struct task *t, const struct tagged_receive *r);

/* Writes into its record who sends how much to whom in a CALL_SEND; and what has come for a receive
 * by tag. */
void task_record(struct recorded r, const struct group *g, const struct task *t);
void task_record_found(struct recorded r, const struct group *g, const struct tagged_receive *t);

/* True if a CALL_SEND must send a copy: what it receives would overwrite what it has still to
 * send. */
static inline bool task_is_in_place(const struct task *t)
{
    return t->to != ML_NOBODY && t->from != ML_NOBODY && t->in == t->out && t->count;
}

#endif

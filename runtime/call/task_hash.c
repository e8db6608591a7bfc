/* SPDX-License-Identifier: MIT */
#include "runtime/call/task_hash.h"

#include "runtime/kernel/reduce_op.h"

#include <string.h>

/* Each step maps the words so far one to one, so a single word that differs is always found. */
static uint64_t bytes_hash(uint64_t h, const void *from, size_t size)
{
    const uint64_t factor = 0x9e3779b97f4a7c15; /* 2^64 / golden ratio: its bits are mixed */
    const unsigned char *at = from;
    uint64_t word;

    for (; size >= sizeof(word); size -= sizeof(word), at += sizeof(word)) {
        memcpy(&word, at, sizeof(word));
        h = (h ^ word) * factor;
        h ^= h >> 29;
    }
    if (size) {
        word = 0;
        memcpy(&word, at, size);
        h = (h ^ word) * factor;
        h ^= h >> 29;
    }
    return h;
}

static uint32_t hash_fold(uint64_t h)
{
    return (uint32_t)(h ^ h >> 32);
}

/* Blocks of all ranks, which may have gaps between them. */
static uint64_t shares_hash(const struct group *g, const void *from, const size_t *sizes,
                            const size_t *offsets)
{
    size_t at = 0;
    uint64_t h = 0;

    for (int r = 0; r < g->size; r++) {
        if (sizes[r])
            h = bytes_hash(h, (const unsigned char *)from + (offsets ? offsets[r] : at), sizes[r]);
        at += sizes[r];
    }
    return h;
}

static size_t elements_size(const struct task *t)
{
    return t->count * (t->with ? t->with->size : reduce_type_size(t->type));
}

/* How many bytes this rank reads at t->in, or of a broadcast at t->out. */
static size_t size_read(const struct group *g, const struct task *t)
{
    size_t ranks = (size_t)g->size, elements = elements_size(t);

    switch (t->kind) {
    case CALL_ALL_REDUCE:
    case CALL_REDUCE:
    case CALL_SCAN:
        return elements;
    case CALL_EXCLUSIVE_SCAN:
        return g->rank == g->size - 1 ? 0 : elements;
    case CALL_REDUCE_SCATTER:
        return elements * ranks;
    case CALL_ALL_GATHER:
    case CALL_GATHER:
        return t->count;
    case CALL_ALL_TO_ALL:
        return t->count * ranks;
    case CALL_BROADCAST:
        return g->rank == t->root ? t->count : 0;
    case CALL_SCATTER:
        return g->rank == t->root ? t->count * ranks : 0;
    case CALL_SEND:
        return t->to == ML_NOBODY ? 0 : t->count;
    default:
        return 0;
    }
}

static size_t size_written(const struct group *g, const struct task *t, size_t received)
{
    size_t ranks = (size_t)g->size, elements = elements_size(t);

    switch (t->kind) {
    case CALL_ALL_REDUCE:
    case CALL_SCAN:
    case CALL_REDUCE_SCATTER:
        return elements;
    case CALL_REDUCE:
        return g->rank == t->root ? elements : 0;
    case CALL_EXCLUSIVE_SCAN:
        return g->rank ? elements : 0;
    case CALL_ALL_GATHER:
    case CALL_ALL_TO_ALL:
        return t->count * ranks;
    case CALL_GATHER:
        return g->rank == t->root ? t->count * ranks : 0;
    case CALL_BROADCAST:
    case CALL_SCATTER:
        return t->count;
    case CALL_SEND:
        return received;
    default:
        return 0;
    }
}

uint32_t task_hash_read(const struct group *g, const struct task *t)
{
    const void *from = t->kind == CALL_BROADCAST ? t->out : t->in;

    if (t->kind == CALL_ALL_TO_ALL_V)
        return hash_fold(shares_hash(g, t->in, t->shares->in_sizes, t->shares->in_offsets));
    if (t->kind == CALL_ALL_GATHER_V)
        return hash_fold(bytes_hash(0, t->in, t->shares->out_sizes[g->rank]));
    return hash_fold(bytes_hash(0, from, size_read(g, t)));
}

void task_hash_note(struct recorded r, const struct group *g, const struct task *t, uint32_t read)
{
    uint64_t h;

    if (!call_record_is_kept(r))
        return;
    if (t->kind == CALL_ALL_TO_ALL_V || t->kind == CALL_ALL_GATHER_V)
        h = shares_hash(g, t->out, t->shares->out_sizes, t->shares->out_offsets);
    else
        h = bytes_hash(0, t->out, size_written(g, t, r.at->received));
    r.at->received = (uint64_t)read << 32 | hash_fold(h);
}

int task_hash_run_both(struct group *g, const struct task *t, struct fault *why)
{
    uint32_t read = task_hash_read(g, t);
    int rc = task_run(g, t, why);

    if (!rc)
        task_hash_note(g->recorded, g, t, read);
    return rc;
}

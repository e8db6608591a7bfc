/* SPDX-License-Identifier: MIT */
#include "runtime/call/task_hash.h"

#include <string.h>

enum { LANES = 4 }; /* a step waits for the one before it, but not for those of other lanes */

/* Maps the words so far one to one, so a single word that differs is always found. */
static inline uint64_t word_hash(uint64_t h, uint64_t word)
{
    h = (h ^ word) * 0x9e3779b97f4a7c15; /* 2^64 / golden ratio: its bits are mixed */
    return h ^ h >> 29;
}

uint64_t task_hash_bytes(uint64_t h, const void *from, size_t size)
{
    const unsigned char *at = from;
    uint64_t lanes[LANES] = {h, h, h, h}, words[LANES], word;

    if (size >= sizeof(words)) {
        for (; size >= sizeof(words); size -= sizeof(words), at += sizeof(words)) {
            memcpy(words, at, sizeof(words));
            /* As one step each, so that the lanes stay in registers: three times as fast. */
#pragma GCC unroll 4
            for (int i = 0; i < LANES; i++)
                lanes[i] = word_hash(lanes[i], words[i]);
        }
        for (int i = 0; i < LANES; i++)
            h = word_hash(h, lanes[i]);
    }
    for (; size >= sizeof(word); size -= sizeof(word), at += sizeof(word)) {
        memcpy(&word, at, sizeof(word));
        h = word_hash(h, word);
    }
    if (size) {
        word = 0;
        memcpy(&word, at, size);
        h = word_hash(h, word);
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
            h = task_hash_bytes(h, (const unsigned char *)from + (offsets ? offsets[r] : at),
                                sizes[r]);
        at += sizes[r];
    }
    return h;
}

static struct task_sizes hashed_sizes(const struct group *g, const struct task *t)
{
    return task_sizes(g, t, call_kind_has(t->kind, CALL_REDUCES) ? task_size(t) : t->count);
}

uint32_t task_hash_read(const struct group *g, const struct task *t)
{
    size_t size = hashed_sizes(g, t).in;

    if (!call_kind_has(t->kind, CALL_MOVES) || (t->kind == CALL_SEND && t->to == ML_NOBODY))
        size = 0;
    if (t->kind == CALL_ALL_TO_ALL_V)
        return hash_fold(shares_hash(g, t->in, t->shares->in_sizes, t->shares->in_offsets));
    if (t->kind == CALL_ALL_GATHER_V)
        size = t->shares->out_sizes[g->rank];
    return hash_fold(
        task_hash_bytes(0, call_kind_has(t->kind, CALL_IN_PLACE) ? t->out : t->in, size));
}

void task_hash_note(struct recorded r, const struct group *g, const struct task *t, uint32_t read)
{
    uint64_t h = 0;

    if (!call_record_is_kept(r))
        return;
    if (t->kind == CALL_SEND)
        h = task_hash_bytes(0, t->out, r.at->received);
    else if (call_kind_has(t->kind, CALL_VARIES))
        h = shares_hash(g, t->out, t->shares->out_sizes, t->shares->out_offsets);
    else if (call_kind_has(t->kind, CALL_MOVES))
        h = task_hash_bytes(0, t->out, hashed_sizes(g, t).out);
    r.at->received = (uint64_t)read << 32 | hash_fold(h);
}

/* SPDX-License-Identifier: MIT */
#include "rdma/standin/library/standin_hash.h"

#include <string.h>

enum { HASHED_MOST = 1 << 20 };

/* FNV-1a over eight bytes at a time, which is enough to see a change. */
static uint64_t hash_add(uint64_t hash, const unsigned char *bytes, size_t size)
{
    const uint64_t prime = 0x100000001b3;
    uint64_t word;

    for (; size >= sizeof(word); bytes += sizeof(word), size -= sizeof(word)) {
        memcpy(&word, bytes, sizeof(word));
        hash = (hash ^ word) * prime;
    }
    for (; size; bytes++, size--)
        hash = (hash ^ *bytes) * prime;
    return hash;
}

/* --- the bytes at the post -------------------------------------------------------------------- */

static uint64_t send_hash(const struct standin_qp *q, const struct standin_send *w)
{
    unsigned char part[4096];
    uint64_t hash = 0xcbf29ce484222325;

    for (uint64_t offset = 0; offset < w->length; offset += sizeof(part)) {
        uint64_t rest = w->length - offset;
        size_t size = rest < sizeof(part) ? (size_t)rest : sizeof(part);

        if (!standin_sge_read(standin_qp_context(q), w->list, w->count, offset, part, size))
            return 0;
        hash = hash_add(hash, part, size);
    }
    return hash ? hash : 1;
}

/* What has a fence waits for reads and atomics, which may write what it sends. */
static bool is_hashed(const struct standin_send *w)
{
    return !w->inlined && !(w->wr.send_flags & IBV_SEND_FENCE) && w->length &&
           w->length <= HASHED_MOST &&
           (w->wr.opcode == IBV_WR_SEND || w->wr.opcode == IBV_WR_SEND_WITH_IMM ||
            w->wr.opcode == IBV_WR_RDMA_WRITE || w->wr.opcode == IBV_WR_RDMA_WRITE_WITH_IMM);
}

void standin_send_check_unchanged(const struct standin_qp *q, const struct standin_send *w,
                                  enum ibv_wc_status status)
{
    char who[STANDIN_TEXT];

    if (w->hash && status == IBV_WC_SUCCESS && is_hashed(w) && send_hash(q, w) != w->hash)
        standin_break(RULE_SEND_UNCHANGED, standin_qp_context(q), standin_name_qp(q, who),
                      "%zu bytes at %p were written to between post and completion",
                      (size_t)w->length, (void *)(uintptr_t)w->list[0].addr);
}

void standin_send_note(const struct standin_qp *q, struct standin_send *w)
{
    if (!w->failed && is_hashed(w))
        w->hash = send_hash(q, w);
}

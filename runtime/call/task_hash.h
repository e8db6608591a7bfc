/* SPDX-License-Identifier: MIT */
/* task_hash.h: hashes of what a call reads and writes, in its record, for `--compare-hashes`: 32
 * bits of the one and 32 of the other, in the place of the bytes received. */
#ifndef RUNTIME_CALL_TASK_HASH_H
#define RUNTIME_CALL_TASK_HASH_H

#include "runtime/call/call_record.h"
#include "runtime/call/task.h"

static inline bool task_hash_is_wanted(const struct group *g)
{
    return __builtin_expect(g->world->calls && g->world->calls->has_hashes, 0);
}

/* The hash of bytes that follow those with the hash `h`, any number before the first. It depends on
 * how they are divided, too. A single word that differs is always found. It is no secret, and no
 * proof against malice. */
uint64_t task_hash_bytes(uint64_t h, const void *from, size_t size);

/* The hash of what the task reads; called before it is carried out. */
uint32_t task_hash_read(const struct group *g, const struct task *t);
/* Puts it, and that of what the task has written, into its record; after it was carried out. */
void task_hash_note(struct recorded r, const struct group *g, const struct task *t, uint32_t read);

#endif

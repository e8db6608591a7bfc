/* SPDX-License-Identifier: MIT */
/*
 * peer_memory_linux.h: memory of ml_alloc that belongs to other members of a group on this host, to
 * be read here, or kept and written too. A piece that is read is mapped when it is first asked for,
 * and stays mapped for a while. The owner's ml_free frees its pages even if other processes have it
 * mapped, and its place in the file is never used again (alloc_file_linux.h), so an old mapping
 * costs only addresses. One thread at a time uses a struct peer_memory: the one that uses the
 * group.
 */
#ifndef RUNTIME_PROCESS_PEER_MEMORY_LINUX_H
#define RUNTIME_PROCESS_PEER_MEMORY_LINUX_H

#include "runtime/process/alloc.h"

struct peer_memory;

/* For a group of `members`. NULL: out of memory. */
struct peer_memory *peer_memory_open(int members);
void peer_memory_close(struct peer_memory *m); /* takes NULL */

/* The address here of `size` bytes of `member`'s memory, which says that they lie at *place in
 * *file. Valid at least until 32 more are asked for. NULL: *file and *place make no sense, or this
 * process may not read that memory (another user or PID namespace, seccomp, a program that is not
 * dumpable). */
const char *peer_memory_find(struct peer_memory *m, int member, const struct alloc_file *file,
                             const struct alloc_place *place, size_t size);

/* Maps all of the block at *place in *file, to be read and written until peer_memory_release, and
 * returns the address of place->offset. NULL: as peer_memory_find. Any thread. */
void *peer_memory_keep(const struct alloc_file *file, const struct alloc_place *place);
void peer_memory_release(void *memory, const struct alloc_place *place);

#endif

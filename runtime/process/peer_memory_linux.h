/* SPDX-License-Identifier: MIT */
/*
 * peer_memory_linux.h: memory of ml_alloc that belongs to other members of a group, on this host,
 * to be read here. A piece is mapped when it is first asked for and stays so for a while: its pages
 * are freed by its owner's ml_free, whoever has it mapped, and its name is never another piece's
 * (alloc_file_linux.h), so an old mapping costs only addresses.
 */
#ifndef RUNTIME_PROCESS_PEER_MEMORY_LINUX_H
#define RUNTIME_PROCESS_PEER_MEMORY_LINUX_H

#include "runtime/process/alloc.h"

struct peer_memory;

/* Of a group of `members`. NULL: out of memory. */
struct peer_memory *peer_memory_open(int members);
void peer_memory_close(struct peer_memory *m); /* takes NULL */

/* Where `size` bytes that a member says to have lie here, at least until 32 more are asked for.
 * NULL: what it says makes no sense, or this process may not read that memory (another user or PID
 * namespace, seccomp, a program that is not dumpable). */
const char *peer_memory_find(struct peer_memory *m, int member, const struct alloc_file *file,
                             const struct alloc_place *place, size_t size);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * bell.h: a FIFO that wakes a rank from poll(). It is rung by the ranks of
 * its host that share memory with it, and by threads of its own process that read news meant for
 * it. Any thread may ring; one thread at a time waits for a bell and silences it.
 */
#ifndef RUNTIME_PROCESS_BELL_H
#define RUNTIME_PROCESS_BELL_H

#include "common/fault.h"

#include <stdbool.h>
#include <stdint.h>

/* Makes the bell of world rank `rank` for group `group` in that generation of the job in `dir`.
 * is_alone: nobody else will open it, so it has no name once it is made; the group's number need
 * not differ from those of the rank's earlier processes. ML_ERR_SYSTEM. bell_remove removes its
 * name and closes it; `fd` may be -1. */
int bell_make(int *fd, const char *dir, uint32_t generation, uint32_t group, int rank,
              bool is_alone, struct fault *why);
void bell_remove(int fd, const char *dir, uint32_t generation, uint32_t group, int rank);

/* Opens another rank's bell: *fd is a descriptor to ring it by, to be closed with fork_guard_close.
 * ML_ERR_SYSTEM. As bell_make, to be called between stdio_guard_begin and stdio_guard_end. */
int bell_find(int *fd, const char *dir, uint32_t generation, uint32_t group, int rank,
              struct fault *why);

/* Wakes its owner, now or from its next sleep. False (errno): it can't, because the program has
 * closed the descriptor. */
bool bell_ring(int fd);
void bell_silence(int fd); /* for the owner: forgets all rings so far */

#endif

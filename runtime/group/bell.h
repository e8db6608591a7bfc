/* SPDX-License-Identifier: MIT */
/*
 * bell.h: a FIFO in the job's directory by which a sleeper in poll() is woken: by the ranks of its
 * host that share memory with it, and by threads of its own process that read news meant for it.
 */
#ifndef RUNTIME_GROUP_BELL_H
#define RUNTIME_GROUP_BELL_H

#include "common/fault.h"

#include <stdint.h>

/* Makes the bell of world rank `rank` for group `group` of that generation of the job in `dir`. */
int bell_make(int *fd, const char *dir, uint32_t generation, uint32_t group, int rank,
              struct fault *why);
void bell_remove(int fd, const char *dir, uint32_t generation, uint32_t group, int rank);

/* Somebody else's: the descriptor to ring it by, or -1 if there is no such bell (any more). */
int bell_find(const char *dir, uint32_t generation, uint32_t group, int rank);

void bell_ring(int fd);    /* wakes its owner, now or when it sleeps next */
void bell_silence(int fd); /* the owner: forgets all rings so far */

#endif

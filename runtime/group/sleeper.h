/* SPDX-License-Identifier: MIT */
/*
 * sleeper.h: how ranks that share memory wake each other. Each has a slot in the shared memory. A
 * rank that is about to sleep in poll() sets is_asleep in its slot and then looks once more at what
 * it waits for; a rank that has written something with a store then looks at is_asleep, and rings
 * the sleeper's bell (bell.h) if it is set. All four accesses are sequentially consistent, so at
 * least one of the two sees what the other has stored; release and acquire would not do, except on
 * x86 (tests/litmus/sleeper-acquire.litmus).
 */
#ifndef RUNTIME_GROUP_SLEEPER_H
#define RUNTIME_GROUP_SLEEPER_H

#include "runtime/process/processor.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>

struct fault;
struct group;

/* One process's; in shared memory, written by that process. */
struct sleeper_slot {
    _Alignas(PROCESSOR_LINE) _Atomic uint32_t
        is_asleep;              /* about to poll; cleared by the rank that rings */
    _Atomic uint32_t is_closed; /* it has freed the group */
    _Atomic int32_t processor;  /* on which it waited last, from 1; 0: not known */
    cpu_set_t processors;       /* that it may use, as it was when it mapped the segment */
};

/* Opens the bell of rank `rank` of g, which shares memory with this rank, as bell_find does. */
int sleeper_find_bell(struct group *g, int rank, struct fault *why);

/* Rings the bell of rank `rank` of g unless another rank has done so. If it can't, it breaks the
 * group, so that the sleeper wakes up all the same. */
void sleeper_ring(struct sleeper_slot *slot, struct group *g, int rank);

/* Wakes rank `rank` of g, whose slot this is, if it sleeps. Call it after a sequentially consistent
 * store of what that rank may wait for, in the thread that uses g. */
static inline void sleeper_wake(struct sleeper_slot *slot, struct group *g, int rank)
{
    if (__builtin_expect(atomic_load(&slot->is_asleep), 0))
        sleeper_ring(slot, g, rank);
}

#endif

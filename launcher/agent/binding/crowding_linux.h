/* SPDX-License-Identifier: MIT */
/*
 * crowding_linux.h: whether the ranks' threads are more than their processors: counted now and then
 * while they run, ever more rarely, because it reads a file for each thread.
 */
#ifndef LAUNCHER_AGENT_BINDING_CROWDING_LINUX_H
#define LAUNCHER_AGENT_BINDING_CROWDING_LINUX_H

#include <stdbool.h>

/* All zero at first. */
struct crowding {
    int ticks, crowded; /* calls, and counts that found too many threads */
    int threads, ranks; /* the most threads that ran or waited for a processor, and whose */
    int processors;     /* that they had */
};

/* To be called at regular times. ranks: how many run, as descendants of this process; processors:
 * how many they may use together. */
void crowding_tick(struct crowding *c, int ranks, int processors);

/* Whether that was so at several times. */
bool crowding_is_lasting(const struct crowding *c);

#endif

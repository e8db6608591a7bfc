/* SPDX-License-Identifier: MIT */
/* pair_schedule.h: all pairs of n in turns, in each of which nobody is in two pairs. */
#ifndef LAUNCHER_TOOLS_BENCH_PAIR_PAIR_SCHEDULE_H
#define LAUNCHER_TOOLS_BENCH_PAIR_PAIR_SCHEDULE_H

/* How many turns n take: n - 1, or n if n is odd, as then one of them pauses in each. */
int pair_schedule_turns(int n);

/* The other one of `mine` (from 0 to n - 1) in that turn; -1: it pauses. */
int pair_schedule_partner(int n, int turn, int mine);

#endif

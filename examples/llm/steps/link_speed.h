/* SPDX-License-Identifier: MIT */
/* link_speed.h: how fast rank 0 reaches each other rank, measured once, for the dashboard. */
#ifndef LLM_STEPS_LINK_SPEED_H
#define LLM_STEPS_LINK_SPEED_H

#include <mlaunch.h>

struct link_speed {
    double latency_us;     /* both ranks send 8 bytes and receive them, the median of some */
    double gigabytes_in_s; /* in each direction, both at once */
};

/* All ranks call it. On rank 0 speeds[id] is that of the rank with that id (ml_id), and its own is
 * left alone; the others pass NULL. Returns 0 or the library's error. */
int link_speed_measure(ml_group *world, struct link_speed *speeds);

#endif

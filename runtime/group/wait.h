/* SPDX-License-Identifier: MIT */
/* wait.h: what a rank does while nothing moves: spin, yield, sleep, hear of deaths, report a stall.
 */
#ifndef RUNTIME_GROUP_WAIT_H
#define RUNTIME_GROUP_WAIT_H

#include "runtime/group/group.h"

/* One stretch of waiting; {0} to begin with and again whenever something has moved (wait_moved). */
struct waiting {
    unsigned steps;
    int64_t since_ns;
    int64_t spin_ns;  /* how long to spin this time; set together with since_ns */
    bool may_be_long; /* that is longer than usual */
    bool is_long;     /* it has spun for longer than the usual time */
};

/* Waits a moment without sleeping. False once it is time to sleep: wait_step. */
bool wait_spin(struct group *g, struct waiting *w);

/* Nothing moved on g's active links: waits a little, or until something may have happened. Fails if
 * what is queued can never go on: ML_ERR_PEER, or what the coordinator broke the group with. */
int wait_step(struct group *g, struct waiting *w, struct fault *why);
void wait_moved(struct group *g, struct waiting *w);

/* Tells the coordinator that a reported call goes on, if it was reported. */
void wait_over(struct group *g);

/* Takes note of what the coordinator has said since g's owner last looked. Fails if it broke g. */
int wait_hear(struct group *g, struct fault *why);

/* As wait_hear, after reading what there is to read, if nobody has for a while. */
int wait_look(struct group *g, struct fault *why);

#endif

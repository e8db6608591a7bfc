/* SPDX-License-Identifier: MIT */
/*
 * wait.h: what a rank does while nothing moves: it spins, yields the processor, sleeps, learns of
 * deaths, and reports a stall. Only the thread that uses the group may call these functions.
 */
#ifndef RUNTIME_GROUP_WAIT_H
#define RUNTIME_GROUP_WAIT_H

#include "coordinator/protocol.h"
#include "runtime/group/group.h"

struct waiting_call;

/* One stretch of waiting: {0} at first, and again after anything has moved (wait_moved). */
struct waiting {
    unsigned steps;
    int64_t since_ns;
    int64_t spin_ns;  /* how long to spin this time; set together with since_ns */
    bool may_be_long; /* spin_ns is longer than usual */
    bool is_long;     /* this stretch has spun for longer than usual */
};

/* Waits a moment without sleeping. False: it is time to sleep (wait_step). */
bool wait_spin(struct group *g, struct waiting *w);

/* Call it when nothing moved on g's active links: waits a little, or sleeps until something may
 * have happened. Fails if what is queued can never go on: ML_ERR_PEER, the code with which the
 * coordinator broke the group, a link's reason, or ML_ERR_SYSTEM. */
int wait_step(struct group *g, struct waiting *w, struct fault *why);

/* Call it when something has moved: ends the stretch, and a stall that was reported. */
void wait_moved(struct group *g, struct waiting *w);

/* Ends a call: if its stall was reported, tells the coordinator that it continues. */
void wait_over(struct group *g);

/* Tell the coordinator, and whoever reads notes (wait_note.h), of a call that waits elsewhere than
 * in wait_step and has done so for WAITING_AFTER_MS, and that it goes on. Any thread. */
void wait_tell(const struct group *g, const struct waiting_call *c);
void wait_tell_over(const struct group *g);

/* Takes over what the coordinator has said since this thread last looked. Fails if it broke g. */
int wait_take_news(struct group *g, struct fault *why);

/* Fails as wait_step does if what is queued can never go on, but does not wait. */
int wait_check(struct group *g, struct fault *why);

/* Fails with ML_ERR_MISMATCH if a message has arrived that no call of this rank will receive, which
 * shows that the peer has made another call. */
int wait_look(const struct group *g, struct fault *why);

/* As wait_take_news, but reads the coordinator's socket first if that was not done for a while. For
 * the beginning of a call. */
int wait_read_news(struct group *g, struct fault *why);

#endif

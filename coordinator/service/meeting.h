/* SPDX-License-Identifier: MIT */
/*
 * meeting.h: ranks that wait for others before they have a group to make calls on, in ml_init,
 * ml_repair and ml_agree, and while a group is made. Whoever keeps others waiting for long is
 * reported by on_stall.
 */
#ifndef COORDINATOR_SERVICE_MEETING_H
#define COORDINATOR_SERVICE_MEETING_H

#include "coordinator/generation_state.h"

#include <stdint.h>

/* Sets the server's one limit for those that keep others waiting, unless it ends earlier. `due_ms`
 * and `now` are as limits_now_ms() gives them. */
void meeting_set_timer(struct server *s, int64_t due_ms);
void meeting_begin(struct server *s, struct server_meeting *m); /* unless it has begun */
/* Reports the ranks that wait for others in ml_init or in making a group: once, when it is time;
 * or now, and again. */
void meeting_check(struct generation *g, int64_t now);
void meeting_tell(struct generation *g, int64_t now);

#endif

/* SPDX-License-Identifier: MIT */
/* attempt_frames.h: what the agents of a run say, and what follows from it. */
#ifndef LAUNCHER_JOB_ATTEMPT_FRAMES_H
#define LAUNCHER_JOB_ATTEMPT_FRAMES_H

#include "launcher/job/attempt_state.h"

/* The events of a member's stream, with the attempt as `arg`. */
void attempt_frames_on_frame(int host, const struct frame *f, void *arg);
void attempt_frames_on_end(int host, const char *text, void *arg);

#endif

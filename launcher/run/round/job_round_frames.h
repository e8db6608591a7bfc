/* SPDX-License-Identifier: MIT */
/* job_round_frames.h: what the agents of a run send, and what follows from it. */
#ifndef LAUNCHER_RUN_ROUND_JOB_ROUND_FRAMES_H
#define LAUNCHER_RUN_ROUND_JOB_ROUND_FRAMES_H

struct frame;

/* The events of a member's channel (agent_channel.h). host: its index in the plan; arg: the
 * round. */
void job_round_frames_on_frame(int host, const struct frame *f, void *arg);
void job_round_frames_on_end(int host, const char *text, void *arg);

#endif

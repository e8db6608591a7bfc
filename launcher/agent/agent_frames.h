/* SPDX-License-Identifier: MIT */
/*
 * agent_frames.h: what the launcher sends. For each frame and each state of the agent, one table
 * says what becomes of the frame: it is taken; or it is an error of the launcher, which ends the
 * channel; or it is ignored, for a reason that the table names. No frame to which the launcher
 * expects an answer is ignored, unless the agent has already sent what answers it.
 */
#ifndef LAUNCHER_AGENT_AGENT_FRAMES_H
#define LAUNCHER_AGENT_AGENT_FRAMES_H

#include "common/net/frame.h"

struct agent;

/* For frame_stream_events; `arg` is the agent. Once the agent has sent REFUSED it takes nothing
 * more, for it is about to end. */
void agent_frames_on_frame(const struct frame *f, void *arg);

/* Sends HELLO: the agent is ready for a job. */
void agent_frames_say_hello(struct agent *a);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * rank_frames.h: what an agent says of its ranks, as handlers of frames (job_round_frames.c). Each
 * returns 0, or a code with the reason why the frame is refused, which ends the channel.
 */
#ifndef LAUNCHER_RUN_ROUND_RANK_FRAMES_H
#define LAUNCHER_RUN_ROUND_RANK_FRAMES_H

#include "launcher/run/state/job_round_state.h"

int rank_frames_on_started(struct job_round *r, struct job_round_host *h, const struct frame *f,
                           struct fault *why);
int rank_frames_on_output(struct job_round *r, struct job_round_host *h, const struct frame *f,
                          struct fault *why);
int rank_frames_on_folded(struct job_round *r, struct job_round_host *h, const struct frame *f,
                          struct fault *why);
int rank_frames_on_exited(struct job_round *r, struct job_round_host *h, const struct frame *f,
                          struct fault *why);
int rank_frames_on_aborted(struct job_round *r, struct job_round_host *h, const struct frame *f,
                           struct fault *why);
int rank_frames_on_stdin_credit(struct job_round *r, struct job_round_host *h,
                                const struct frame *f, struct fault *why);
int rank_frames_on_calls(struct job_round *r, struct job_round_host *h, const struct frame *f,
                         struct fault *why);

#endif

/* SPDX-License-Identifier: MIT */
/* job_round_frames.h: what the agents of a run send, and what follows from it, as events of the
 * round's session (agent_session.h). host: the index in the plan; arg: the round. */
#ifndef LAUNCHER_RUN_ROUND_JOB_ROUND_FRAMES_H
#define LAUNCHER_RUN_ROUND_JOB_ROUND_FRAMES_H

#include "launcher/run/elastic/lives.h"
#include "launcher/wire/channel/agent_session.h"

int job_round_frames_on_hello(int host, const struct hello_report *hello, void *arg,
                              struct fault *why);
int job_round_frames_on_answer(int host, json_t *said, void *arg, struct fault *why);
int job_round_frames_on_frame(int host, const struct frame *f, void *arg, struct fault *why);
void job_round_frames_on_pong(int host, const struct frame *f, void *arg);
void job_round_frames_on_end(int host, const char *text, void *arg);
void job_round_frames_on_pulse(void *arg);
/* What becomes of a frame of that type from a host in that state: a letter of the table in
 * job_round_frames.c. */
char job_round_frames_cell(uint8_t type, enum host_life life);
/* All hosts have their copies of --stage-env (env_copy.h). */
void job_round_frames_on_copied(uint64_t lost, void *arg);
/* All hosts have answered about their RDMA devices, or one has failed. */
void job_round_frames_on_surveyed(void *arg);

#endif

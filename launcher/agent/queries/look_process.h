/* SPDX-License-Identifier: MIT */
/*
 * look_process.h: the answer to a question that mlaunch asks while the job runs. Stacks take
 * seconds, in which the worker must go on; so a child of the worker finds the answer.
 */
#ifndef LAUNCHER_AGENT_QUERIES_LOOK_PROCESS_H
#define LAUNCHER_AGENT_QUERIES_LOOK_PROCESS_H

#include "launcher/wire/protocol/frame_stream.h"

#include <stdint.h>

struct look_process;

/* Sends an ANSWER to `question` (QUERY's JSON) over the channel, later or now: one with an error if
 * the one before is still being found, or no child can be started. *p is NULL at first. */
void look_process_ask(struct look_process **p, struct event_base *base,
                      struct frame_stream *channel, const uint8_t *question, size_t size);
/* Ends the child; takes NULL. */
void look_process_close(struct look_process *p);

#endif

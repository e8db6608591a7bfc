/* SPDX-License-Identifier: MIT */
/*
 * stack_child.h: the answer to a question that mlaunch asks while the job runs. Stacks take
 * seconds, in which the worker must go on; so a child of the worker finds the answer.
 */
#ifndef LAUNCHER_AGENT_CHILDREN_STACK_CHILD_H
#define LAUNCHER_AGENT_CHILDREN_STACK_CHILD_H

#include "launcher/wire/protocol/frame_stream.h"

#include <stdint.h>

struct stack_child;

/* Sends an ANSWER to `question` (QUERY's JSON) over the channel, later or now: one with an error if
 * the one before is still being found, or no child can be started. *p is NULL at first. */
void stack_child_ask(struct stack_child **p, struct event_base *base, struct frame_stream *channel,
                     const uint8_t *question, size_t size);
/* Ends the child; takes NULL. */
void stack_child_close(struct stack_child *p);

#endif

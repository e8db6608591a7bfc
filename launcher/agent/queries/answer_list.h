/* SPDX-License-Identifier: MIT */
/* answer_list.h: for `mlaunch ps`: the jobs on this host with their ranks, CPU time and memory. */
#ifndef LAUNCHER_AGENT_QUERIES_ANSWER_LIST_H
#define LAUNCHER_AGENT_QUERIES_ANSWER_LIST_H

#include "launcher/agent/queries/answer_question.h"

/* Adds "jobs" and "orphans" (doc/protocol.md, "Questions"). With q->stacks takes up to 25 s. */
int answer_list_run(const struct answer_question *q, json_t *out, struct fault *why);

#endif

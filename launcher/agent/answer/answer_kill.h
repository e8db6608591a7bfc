/* SPDX-License-Identifier: MIT */
/* answer_kill.h: for `mlaunch kill`: ends a live job by its agent on this host, which tells the
 * launcher. */
#ifndef LAUNCHER_AGENT_ANSWER_ANSWER_KILL_H
#define LAUNCHER_AGENT_ANSWER_ANSWER_KILL_H

#include "launcher/agent/answer/answer_question.h"

/* Adds "found": "killed", "stale", "stranger" (another user's), "refused" (it did not end) or "no";
 * "text" for people; "live", the ids of this user's live jobs. Returns when the job's agent has
 * ended. */
int answer_kill_run(const struct answer_question *q, json_t *out, struct fault *why);

#endif

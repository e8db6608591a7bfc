/* SPDX-License-Identifier: MIT */
/* answer_kill.h: for `mlaunch kill`: ends a live job through its agent on this host, which tells
 * the launcher. */
#ifndef LAUNCHER_AGENT_QUERIES_ANSWER_KILL_H
#define LAUNCHER_AGENT_QUERIES_ANSWER_KILL_H

#include "launcher/agent/queries/answer_question.h"

/* Adds "found": "killed" (or, with q->soft, "asked"), "stale", "stranger" (another user's job),
 * "refused" (it did not end, or cannot be asked) or "no"; "text", a sentence; and "live", the ids
 * of this user's live jobs. Returns when the job's agent has ended, or has not done so within its
 * grace and 11 s; when it has been asked, at once. */
int answer_kill_run(const struct answer_question *q, json_t *out, struct fault *why);

#endif

/* SPDX-License-Identifier: MIT */
/* answer_find.h: for `mlaunch attach`: where a rank's process is. */
#ifndef LAUNCHER_AGENT_QUERIES_ANSWER_FIND_H
#define LAUNCHER_AGENT_QUERIES_ANSWER_FIND_H

#include "launcher/agent/queries/answer_question.h"

/* Adds "found": "rank" (with "pid", "cwd", "shell" and "gdb", whether it is in PATH), "job" (but no
 * such rank of it runs here), "stranger" (another user's job) or "no"; and "text", a sentence. */
int answer_find_run(const struct answer_question *q, json_t *out, struct fault *why);

#endif

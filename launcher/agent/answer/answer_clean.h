/* SPDX-License-Identifier: MIT */
/*
 * answer_clean.h: for `mlaunch clean`: ends and removes on this host what belongs to this user's
 * dead jobs: processes, segments in /dev/shm, control groups, job directories; and half copies of
 * agents. Whoever belongs to a live job, by its directory, parents or children, is never touched,
 * nor is what another user has.
 */
#ifndef LAUNCHER_AGENT_ANSWER_ANSWER_CLEAN_H
#define LAUNCHER_AGENT_ANSWER_ANSWER_CLEAN_H

#include "launcher/agent/answer/answer_question.h"

/* Adds "removed" and "left": objects {kind, job, text} with kind "process" (and pid, name),
 * "segment", "directory", "file" (and path). With dry_run "removed" is what would be. */
int answer_clean_run(const struct answer_question *q, json_t *out, struct fault *why);

#endif

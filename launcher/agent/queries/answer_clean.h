/* SPDX-License-Identifier: MIT */
/*
 * answer_clean.h: removes, for `mlaunch clean`, from this host what this user's dead jobs have
 * left: processes, segments in /dev/shm, control groups, job directories; and partial copies of
 * agents. Processes that belong to a live job, by their directory, parents or children, are never
 * touched, nor is anything of another user.
 */
#ifndef LAUNCHER_AGENT_QUERIES_ANSWER_CLEAN_H
#define LAUNCHER_AGENT_QUERIES_ANSWER_CLEAN_H

#include "launcher/agent/queries/answer_question.h"

/* Adds "removed" and "left": lists of objects {kind, job, text} whose kind is "process" (with pid
 * and name), or "segment", "cgroup", "directory" or "file" (with path). With dry_run, "removed"
 * lists what would be removed. Takes up to 4 s. */
int answer_clean_run(const struct answer_question *q, json_t *out, struct fault *why);

#endif
